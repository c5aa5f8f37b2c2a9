import type { Rows } from './fill.ts'
import { CONFIG, run, type Server, storeFlags } from './processes.ts'
import type { BenchStore, Database } from './store.ts'

export const member = { email: 'bench@example.com', password: 'slow-Kettle-47-harbour' } as const

/** Makes a database with one admin and a number of rows. */
export async function makeDatabase(
  store: BenchStore,
  name: string,
  rows: Rows,
  { config = CONFIG, from }: { readonly config?: string; readonly from?: string | undefined } = {},
): Promise<Database> {
  const database = await store.make(name)
  const add = ['user', 'add', 'admins', member.email, '--password', member.password]
  await run([process.execPath, 'src/cli/main.ts', ...add, ...storeFlags(database, config)], 30, '', from)
  await database.fill(rows)
  return database
}

const PATIENCE_MS = 10_000

export async function ask(
  server: Server,
  method: string,
  path: string,
  token: string,
  body?: object,
): Promise<string> {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      Accept: 'application/json',
      'Content-Type': 'application/json',
      ...(token !== '' && { Authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${server.url}${path} was answered ${response.status}: ${text}`)
  return text
}

export async function logIn(server: Server, email: string = member.email): Promise<string> {
  const body = { ...member, email }
  const answer = JSON.parse(await ask(server, 'POST', '/api/auth/login', '', body)) as { token: string }
  return answer.token
}

/** Checks that both servers answer alike, except for times and tokens: otherwise they could not be compared. */
export async function compareAnswers(
  takeback: { readonly server: Server; readonly token: string },
  limit: { readonly server: Server; readonly token: string },
  booking: object,
): Promise<void> {
  const calls = [
    ['POST', '/api/bookings/', booking],
    ['GET', '/api/bookings/7/'],
    ['GET', '/api/bookings/'],
    ['DELETE', '/api/bookings/7/'],
    ['DELETE', '/api/bookings/7/?restore=1'],
    ['POST', '/api/auth/login', member],
  ] as const
  for (const [method, path, body] of calls) {
    const [ours, bare] = await Promise.all(
      [takeback, limit].map(async ({ server, token }) => blank(await ask(server, method, path, token, body))),
    )
    if (ours !== bare)
      throw new Error(
        `The other server does not answer ${method} ${path} as Takeback does:\n${ours}\n${bare}`,
      )
  }
}

function blank(json: string): string {
  return json.replace(/"token":"[^"]+"/, '"token":""').replace(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"time"')
}
