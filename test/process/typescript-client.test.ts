import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bookings from '../../examples/bookings/takeback.config.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { documentOf } from '../../src/openapi/document.ts'
import { must, network, sh } from './package.ts'
import { newFolder } from './process.ts'

if (!network) console.warn('skipped: openapi-typescript; TAKEBACK_TEST_NETWORK=1 runs it')

/** Code of a user, against types generated from the document. */
const client = `import createClient from 'openapi-fetch'
import type { components, paths } from './api'
const api = createClient<paths>({ baseUrl: 'http://127.0.0.1:3000' })
export async function use() {
  const login = await api.POST('/api/auth/login', { body: { email: 'a@example.com', password: 'x' } })
  const token: string = login.data?.token ?? ''
  // What has a default may be left out.
  const made = await api.POST('/api/bookings/', { body: { room: { id: 1 }, starts_at: '2027-05-01T15:00:00Z' } })
  if (made.error !== undefined) { const code: string = made.error.code; return code }
  const list = await api.GET('/api/bookings/', { params: { query: { status: 'open', sort: ['-starts_at'], 'room.id': 1 } } })
  const first = list.data?.data[0]
  const guests: number | undefined = first?.guests
  const kind: components['schemas']['Change']['kind'] = 'create'
  await api.PATCH('/api/bookings/{id}/', { params: { path: { id: 1 } }, body: { guests: 3, address: null } })
  await api.POST('/api/batch/', { body: [{ method: 'POST', path: '/api/rooms/', body: { title: 'Attic', beds: 2 } }] })
  const sums = await api.GET('/api/bookings/summary/', { params: { query: { sum: ['guests'], group: ['status'] } } })
  const sum = sums.data?.data[0]?.sum?.guests
  return { token, guests, kind, sum }
}
`

const mistakes = [
  [`status: 'open', sort`, `status: 'opened', sort`],
  [`room: { id: 1 }, starts_at`, `room: 1, starts_at`],
  [`starts_at: '2027-05-01T15:00:00Z'`, `begins_at: '2027-05-01T15:00:00Z'`],
  [`guests: 3`, `guests: '3'`],
  [`'-starts_at'`, `'-start_at'`],
] as const

test.skipIf(!network)(
  'openapi-typescript makes types with which a client can be written',
  () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
    must(folder, 'npm install openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3')
    writeFileSync(join(folder, 'document.json'), JSON.stringify(documentOf(resolve(bookings))))
    must(folder, 'npx openapi-typescript document.json -o api.d.ts')
    const check = (source: string) => {
      writeFileSync(join(folder, 'client.ts'), source)
      return sh(
        folder,
        'npx tsc --strict --noEmit --module preserve --target es2022 --lib es2022,dom client.ts',
      )
    }
    expect(check(client)).toEqual({ code: 0, out: '', err: expect.any(String) as unknown as string })
    for (const [right, wrong] of mistakes) {
      expect(client).toContain(right)
      expect([wrong, check(client.replace(right, wrong)).code]).toEqual([wrong, 2])
    }
  },
  600_000,
)
