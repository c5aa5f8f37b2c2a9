// The limit of `queries`: one page of a list, by exactly the SQL that Takeback runs for it, and nothing else. No
// login, no parsing, no rules except those in the SQL. Started by queries.ts: bun bench/page.ts <address of a database>
// <file of the page>
import { readFileSync } from 'node:fs'
import { readConfig } from '../src/config.ts'
import type { Values } from './limit-types.ts'
import { openPostgresQuery } from './postgres/limit.ts'
import { openSqliteQuery } from './sqlite/limit.ts'

/** An SQL text, and the values bound to it for each number. */
export interface Page {
  readonly text: string
  readonly bound: readonly Values[]
  readonly limit: number
  /** The part of a cursor before its place. */
  readonly signature: string
}

const [database = '', file = ''] = process.argv.slice(2)
const { text, bound, limit, signature } = JSON.parse(readFileSync(file, 'utf8')) as Page
const location = readConfig({ database }, process.env).database
const query =
  location.kind === 'sqlite' ? openSqliteQuery(location.path, text) : openPostgresQuery(location, text)

const init = { headers: { 'Content-Type': 'application/json' } }

function respond(rows: unknown[][]): Response {
  const page = rows.slice(0, limit)
  const next =
    rows.length > limit ? `"${Buffer.from(`${signature}${page.at(-1)?.[1]}`).toString('base64url')}"` : 'null'
  return new Response(`{"data":[${page.map(([json]) => json).join(',')}],"next":${next}}`, init)
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  routes: {
    '/:at': (request) => {
      const rows = query.run(bound[Number(request.params.at)] ?? [])
      return rows instanceof Promise ? rows.then(respond) : respond(rows)
    },
  },
})

process.on('SIGTERM', async () => {
  await query.close()
  process.exit(0)
})
console.log(`The page is ready at http://127.0.0.1:${server.port}`)
