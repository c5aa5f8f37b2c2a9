import { afterAll, beforeAll } from 'bun:test'
import type { AppDeclaration } from '../src/declare/define.ts'
import { TestServer } from './harness.ts'

/** Starts the instances of one database for these tests: one on SQLite, two on PostgreSQL. The first is `server`. */
export function startedInstances(
  store: string,
  declaration: AppDeclaration,
  flags: Record<string, string>,
): { readonly server: TestServer; readonly instances: readonly TestServer[] } {
  const server = new TestServer(store, declaration, flags)
  const instances = [server]
  beforeAll(async () => {
    await server.start()
    if (store !== 'postgres') return
    const second = new TestServer(store, declaration, flags, await server.database())
    second.adminToken = server.adminToken
    await second.start()
    instances.push(second)
  })
  afterAll(async () => {
    for (const one of instances.slice(1)) await one.stop()
    await server.remove()
  })
  return { server, instances }
}
