import { expect, test } from 'bun:test'
import { onEveryStoreByHand } from '../harness.ts'
import { LOGIN, prepared, run, runHere, serve } from './process.ts'

const headers = { Accept: '*/*', 'Content-Type': 'application/json' }

onEveryStoreByHand('the command line takes back', (store) => {
  test('history, undo and trash, beside a running server', async () => {
    const { database, args } = await prepared(store)
    const server = await serve(args)
    const send = async (method: string, path: string, body?: unknown, token?: string) => {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { ...headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return {
        status: response.status,
        body: text === '' ? undefined : JSON.parse(text),
        operation: response.headers.get('Takeback-Operation') ?? '',
      }
    }
    const { token } = (await send('POST', '/api/auth/login', LOGIN)).body
    const call = (method: string, path: string, body?: unknown) => send(method, path, body, token)
    const cli = (...words: string[]) => run([...words, ...args])
    const here = (...words: string[]) => runHere([...words, ...args])

    await call('POST', '/api/rooms/', { title: 'Attic', beds: 1 })
    const patched = await call('PATCH', '/api/rooms/1/', { beds: 3 })
    const shown = await cli('history', 'rooms/1')
    expect([shown.code, shown.err]).toEqual([0, ''])
    expect(
      shown.out
        .split('\n')
        .map((line) => line.replace(/^\S+Z/, '<time>').replace(/[0-9a-f-]{36}/, '<operation>')),
    ).toEqual([
      '<time>  update   version 2  by admins/1  <operation>',
      '    beds  1 → 3',
      '<time>  create   version 1  by admins/1  <operation>',
      '    title  null → "Attic"',
      '    beds   null → 1',
      '    price  null → "0.00"',
      '',
    ])
    expect(JSON.parse((await here('history', 'rooms/1', '--json', '--limit', '1')).out).data).toHaveLength(1)

    const unasked = await cli('undo', patched.operation)
    expect([unasked.code, unasked.err]).toEqual([1, 'There is no terminal to ask on: confirm with --yes.\n'])
    expect(unasked.out).toBe('update   rooms/1\n    beds  3 → 1\n\n1 operation, 1 Entity to change.\n')
    expect((await call('GET', '/api/rooms/1/')).body.beds).toBe(3)
    const undone = await cli('undo', patched.operation, '--yes')
    expect(undone.out).toMatch(/Taken back, as operation [0-9a-f-]{36}\.\n$/)
    expect((await call('GET', '/api/rooms/1/')).body.beds).toBe(1)
    const twice = await here('undo', patched.operation, '--yes')
    expect([twice.code, twice.out]).toEqual([0, '\n1 operation, 0 Entities to change.\n'])
    await call('PATCH', '/api/rooms/1/', { beds: 5 })
    const { body: past } = await call('GET', '/api/rooms/1/history/?limit=2')
    const [{ at: last }, { at: first }] = past.data
    const refused = await here('undo', patched.operation, '--yes')
    expect([refused.code, refused.err]).toEqual([
      1,
      `This cannot be undone: there are conflicts.\n  rooms/1 beds was changed since, by system at ${first}, by admins/1 at ${last}\n`,
    ])

    const noted = {
      'Takeback-Run': 'run-7',
      'Takeback-Reason': 'as%20told',
      Authorization: `Bearer ${token}`,
    }
    await fetch(`${server.url}/api/rooms/1/`, {
      method: 'PATCH',
      headers: { ...headers, ...noted },
      body: JSON.stringify({ beds: 9 }),
    })
    expect((await here('history', 'rooms/1')).out).toMatch(
      / run run-7\n {4}because "as told"\n {4}beds {2}5 → 9\n/,
    )
    expect((await here('undo', '--run', 'run-7', '--yes')).out).toContain('1 operation, 1 Entity to change.')
    expect((await call('GET', '/api/rooms/1/')).body.beds).toBe(5)

    const since = new Date().toISOString()
    for (const title of ['one', 'two']) await call('POST', '/api/rooms/', { title, beds: 1 })
    const many = await here('undo', '--actor', 'admins/1', '--since', since, '--yes', '--json')
    expect(JSON.parse(many.out)).toMatchObject({ undone: 2, total: 2 })
    expect((await call('GET', '/api/rooms/')).body.data).toHaveLength(1)

    const trash = await here('trash', 'list', '--entity', 'rooms', '--json')
    expect(JSON.parse(trash.out)).toMatchObject([
      { entity: 'rooms', actor: 'system' },
      { entity: 'rooms', actor: 'system' },
    ])
    const { data } = (await call('GET', '/api/rooms/?trashed=only')).body
    expect(data[0].deletion).toEqual({ operation: JSON.parse(many.out).operation, actor: 'system' })
    expect((await here('trash', 'purge', '--older-than', '1d', '--yes')).out).toBe('Nothing is that old.\n')
    expect((await cli('trash', 'purge', '--older-than', '0d', '--yes')).out).toBe(
      '2 rooms\nErased 2; kept 0.\n',
    )
    expect((await here('trash', 'list')).out).toBe('The trash is empty.\n')

    for (const [words, sentence] of [
      [['history', 'rooms'], 'Name an Entity'],
      [['history', 'romms/1'], 'There is no Entity type "romms"; did you mean "rooms"?'],
      [['history', 'rooms/99'], 'There is nothing here.'],
      [['undo'], 'Name an operation'],
      [['undo', 'x'], 'There is nothing here.'],
      [['undo', '--since', 'noon'], '--since must be a time such as 14:00'],
      [['trash', 'purge'], 'Give an age'],
      [['trash', 'purge', '--older-than', 'old'], '--older-than must be an age'],
    ] as const) {
      const { code, err } = await here(...words)
      expect([code, err]).toEqual([1, expect.stringContaining(sentence) as unknown as string])
    }
    expect(await server.end()).toBe(0)
    await database.remove()
  })
})
