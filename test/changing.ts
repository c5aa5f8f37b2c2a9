import { afterAll } from 'bun:test'
import type { AppDeclaration } from '../src/declare/define.ts'
import { resolve } from '../src/declare/resolve.ts'
import { brokenChecks } from '../src/plan/condition/checks.ts'
import { tablesOf } from '../src/plan/tables/schema.ts'
import { preview } from '../src/store/migration/migrate.ts'
import { TestServer } from './harness.ts'

/** Starts servers on databases of this store, for tests that change the declaration. */
export function changing(store: string) {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  async function started(declaration: AppDeclaration, ...bodies: object[]): Promise<TestServer> {
    const server = new TestServer(store, declaration)
    servers.push(server)
    await server.start()
    for (const body of bodies) await server.expect(201, 'POST', '/api/things/', body)
    return server
  }
  const entityAt = (server: TestServer, path: string): Promise<any> =>
    server.expect(200, 'GET', `/api/${path}/`)
  const refusal = (server: TestServer, declaration: AppDeclaration, options = {}) =>
    server.restart(declaration, options).then(
      () => 'started',
      (error: Error) => error.message,
    )
  const planOf = async (server: TestServer, declaration: AppDeclaration) => {
    const opened = await server.openStore()
    try {
      const model = resolve(declaration)
      const broken = brokenChecks(model, opened.dialect)
      return (await preview(opened.structure, tablesOf(model), broken)).lines
    } finally {
      await opened.close()
    }
  }
  return { started, entityAt, refusal, planOf }
}
