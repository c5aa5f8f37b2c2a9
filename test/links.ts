import { linkTableOf, walk } from '../src/declare/model.ts'
import { resolve } from '../src/declare/resolve.ts'
import { memberId } from '../src/declare/values.ts'
import type { AppDeclaration } from '../src/takeback.ts'
import type { TestServer } from './harness.ts'

/** Returns lists of references that differ from their link table. There must never be any. */
export async function linksAstray(server: TestServer, declaration: AppDeclaration): Promise<unknown[]> {
  const astray: unknown[] = []
  for (const { name, fields } of resolve(declaration).entities.values())
    for (const { path, member } of [...walk(fields)].filter((field) => field.kind === 'links')) {
      const { table } = linkTableOf(name, path)
      const rows = await server.query(`SELECT "id", "${path}" AS list FROM "${name}" ORDER BY "id"`)
      const links = await server.query(
        `SELECT "source", "target" FROM "${table}" ORDER BY "source", "place", "target"`,
      )
      const said = rows.flatMap(({ id, list }) =>
        membersOf(list).map((one) => `${table} ${id} ${memberId(one, member)}`),
      )
      const kept = links.map(({ source, target }) => `${table} ${source} ${target}`)
      if (said.join() !== kept.join()) astray.push({ said, kept })
    }
  return astray
}

/** One database returns JSON as a text. */
function membersOf(list: unknown): unknown[] {
  return (typeof list === 'string' ? JSON.parse(list) : (list ?? [])) as unknown[]
}
