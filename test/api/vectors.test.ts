import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { everything } from '../declarations.ts'
import { giant, onEveryStore, sample, sampleStart, type TestServer } from '../harness.ts'
import { isFast } from '../runs.ts'
import { vectors } from '../vectors.ts'

const documents = vectors('jsontestsuite')
const strings = vectors('blns/blns.json')

/** Reads every document of the test suite. */
function bodiesOf(folder: string): { name: string; body: Uint8Array }[] {
  return ['test_parsing', 'test_transform'].flatMap((part) =>
    readdirSync(join(folder, part)).map((name) => ({ name, body: readFileSync(join(folder, part, name)) })),
  )
}

/** Invalid JSON never reaches the database, so each store gets half of it. */
function bodiesFor(server: TestServer, folder: string): { name: string; body: Uint8Array }[] {
  const [bad, other] = [true, false].map((isBad) =>
    bodiesOf(folder).filter(({ name }) => name.startsWith('n_') === isBad),
  )
  return [...sample(bad ?? [], 2, sampleStart(server.store)), ...(other ?? [])]
}

function wrapped(before: string, body: Uint8Array, after: string): Uint8Array {
  return Buffer.concat([Buffer.from(before), body, Buffer.from(after)])
}

async function countsOf(server: TestServer): Promise<number[]> {
  const counts = ['things', 'admins', 'takeback_journal'].map((table) => `(SELECT count(*) FROM "${table}")`)
  const [row] = await server.query(`SELECT ${counts.map((count, at) => `${count} AS c${at}`).join(', ')}`)
  return Object.values(row ?? {}).map(Number)
}

onEveryStore('test vectors', everything, (server) => {
  const orSkip = documents === undefined ? test.skip : giant
  orSkip(
    'JSON documents, good and bad, into create, update and login: no 5xx, no stray row',
    async () => {
      const { id } = await server.expect(201, 'POST', '/api/things/', { name: 'target' })
      const seen = { sent: 0, accepted: 0 }
      let before = await countsOf(server)
      for (const { name, body } of bodiesFor(server, documents ?? '')) {
        for (const [method, path, raw] of [
          ['POST', '/api/things/', body],
          ['PATCH', `/api/things/${id}/`, body],
          ['PUT', `/api/things/${id}/`, body],
          ['POST', '/api/auth/login', body],
          ['POST', '/api/things/', wrapped('{"name":', body, '}')],
          ['POST', '/api/things/', wrapped('{"name":"x","anything":', body, '}')],
          ['POST', '/api/things/', wrapped('{"name":"x","lines":', body, '}')],
          ['POST', '/api/things/', wrapped('{"name":"x","big":', body, '}')],
          ['PATCH', `/api/things/${id}/`, wrapped('{"parent":', body, '}')],
          ['PATCH', `/api/things/${id}/`, wrapped('{"inner":', body, '}')],
          ['POST', '/api/auth/login', wrapped('{"password":"x","email":', body, '}')],
        ] as const) {
          const login = path === '/api/auth/login'
          const { status, body: answer } = await server.call(method, path, {
            raw,
            ...(login && { token: null }),
          })
          seen.sent++
          expect([name, method, path, [200, 201, 400, 413, 422, 429].includes(status)]).toEqual([
            name,
            method,
            path,
            true,
          ])
          if (name.startsWith('n_') && raw === body) expect([name, status]).toEqual([name, 400])
          // Refused requests have written nothing since the last look.
          if (status >= 400) continue
          seen.accepted++
          const after = await countsOf(server)
          const [things = 0, admins = 0, journal = 0] = before
          const isWritten = status === 201 || (answer.version > 1 && method !== 'PATCH')
          const versions = isWritten || after[2] !== journal ? 1 : 0
          expect([name, after]).toEqual([
            name,
            [things + (status === 201 ? 1 : 0), admins, journal + versions],
          ])
          before = after
        }
        expect([name, await countsOf(server)]).toEqual([name, before])
      }
      expect(seen.sent).toBeGreaterThan(2000)
      expect(seen.accepted).toBeGreaterThan(100)
    },
    120_000,
  )

  test.skipIf(isFast || strings === undefined)(
    'naughty strings come back equal, or are refused, in every text position',
    async () => {
      const naughty: string[] = JSON.parse(readFileSync(strings ?? '', 'utf8'))
      expect(naughty.length).toBeGreaterThan(400)
      for (const string of naughty) {
        const refused = string.includes('\0') || !string.isWellFormed()
        const body = {
          name: string,
          anything: { [string]: [string] },
          lines: [{ price: '1.00', note: string }],
          inner: { deep: { word: string } },
        }
        const { status, body: made } = await server.call('POST', '/api/things/', { body })
        expect([string, status]).toEqual([string, refused ? 422 : 201])
        if (refused) continue
        expect(made).toMatchObject(body)
        const { data } = await server.expect(
          200,
          'GET',
          `/api/things/?id=${made.id}&name=${encodeURIComponent(string)}&inner.deep.word=${encodeURIComponent(string)}`,
        )
        expect([string, data]).toEqual([string, [made]])
        await server.expect(200, 'PATCH', `/api/things/${made.id}/`, {
          inner: { deep: { word: `${string}!` } },
        })
      }
    },
    120_000,
  )

  test.skipIf(isFast || strings === undefined)(
    'naughty strings where only plain words belong: no 5xx, nothing written',
    async () => {
      const naughty: string[] = JSON.parse(readFileSync(strings ?? '', 'utf8'))
      const before = await countsOf(server)
      // Hardly any of it reaches the database, so each store gets half of it.
      for (const string of sample(naughty, 2, sampleStart(server.store))) {
        const word = encodeURIComponent(string.isWellFormed() ? string : 'x')
        for (const path of [
          `/api/${word}/`,
          `/api/things/${word}/`,
          `/api/things/?sort=${word}`,
          `/api/things/?cursor=${word}`,
          `/api/things/?${word}=1`,
          `/api/things/?fields=${word}`,
          `/api/things/?limit=${word}`,
          `/api/things/?big=${word}`,
          `/api/things/?token=${word}`,
        ]) {
          const { status } = await server.call('GET', path)
          expect([path, status < 500]).toEqual([path, true])
        }
        const headers = { 'If-Match': `"${word}"`, Accept: '*/*' }
        expect(
          (await server.call('PATCH', '/api/things/1/', { headers, body: { colour: string } })).status,
        ).toBeLessThan(500)
        expect(
          (
            await server.call('POST', '/api/auth/login', {
              token: null,
              body: { email: { [string]: string }, password: string, user_type: string },
            })
          ).status,
        ).toBe(422)
      }
      expect(await countsOf(server)).toEqual(before)
    },
    120_000,
  )
})
