import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { everything } from '../declarations.ts'
import { expectInvalid, onEveryStore, runs } from '../harness.ts'

const scaled = (fraction: number) =>
  fc.tuple(fc.integer({ min: 0, max: 999_999 }), fc.integer({ min: 0, max: 10 ** fraction - 1 }))

onEveryStore('fields', everything, (server) => {
  const create = (fields: Record<string, unknown>) =>
    server.call('POST', '/api/things/', { body: { name: 'n', ...fields } })

  test('values come back as they went in', async () => {
    const values = {
      short: 'äöü',
      mail: 'x@example.com',
      site: 'https://example.com/a?b=c#d',
      count: -5,
      big: Number.MAX_SAFE_INTEGER,
      ratio: 0.1,
      price: '-9.99',
      fine: '0.000001',
      flag: false,
      day: '2024-02-29',
      instant: '2026-01-01T00:00:00.001Z',
      colour: 'red',
      anything: { a: [1, null, 'x', { b: true }], ' ': '' },
      tags: ['a', ''],
      lines: [{ price: '1.00', note: 'x' }],
      inner: { deep: { word: 'w' }, flag: true },
    }
    const { status, body } = await create(values)
    expect(status).toBe(201)
    expect(body).toMatchObject(values)
    expect(body.pin).toBeUndefined()
    expect((await server.call('GET', `/api/things/${body.id}/`)).body).toEqual(body)
  })

  test('defaults reach into objects and lists', async () => {
    const { body } = await create({ lines: [{ price: '2' }], inner: { deep: {} } })
    expect(body.lines).toEqual([{ price: '2.00', note: 'none' }])
    expect(body.inner).toEqual({ deep: { word: 'x' }, flag: false })
    expectInvalid(await create({ inner: {} }), { 'inner.deep': ['is required'] })
  })

  test('nothing is coerced, and what does not fit is refused at its path', async () => {
    const refused: [string, unknown, string, string?][] = [
      ['name', 5, 'must be a text'],
      ['name', ['a'], 'must be a text'],
      ['name', null, 'must not be null'],
      ['name', 'a\u0000b', 'must not contain the character U+0000'],
      ['name', 'a\ud800b', 'must not contain half of a surrogate pair'],
      ['short', 'a', 'must have at least 2 characters'],
      ['short', 'abcde', 'must have at most 4 characters'],
      ['short', '𝒳', 'must have at least 2 characters'],
      ['mail', 'nobody', 'must be an e-mail address'],
      ['site', 'javascript:alert(1)', 'must be an address that starts with http:// or https://'],
      ['count', '3', 'must be an integer'],
      ['count', 1.5, 'must be an integer'],
      ['count', 6, 'must be at most 5'],
      ['count', -6, 'must be at least -5'],
      ['big', 9007199254740992, 'must be at most 9007199254740991'],
      ['ratio', -1, 'must be at least 0'],
      ['ratio', true, 'must be a number'],
      [
        'price',
        9.99,
        'must be a decimal as a string, such as "10.50", with at most 16 digits before the point and 2 after it',
      ],
      [
        'price',
        '1e3',
        'must be a decimal as a string, such as "10.50", with at most 16 digits before the point and 2 after it',
      ],
      ['price', '1000000.01', 'must be at most 1000000'],
      ['flag', 1, 'must be true or false'],
      ['flag', 'true', 'must be true or false'],
      ['day', '2023-02-29', 'must be a date, such as "2026-12-31"'],
      [
        'instant',
        '2026-01-01',
        'must be a time with a zone and at most milliseconds, such as "2026-12-31T18:00:00Z"',
      ],
      [
        'instant',
        '2026-01-01T00:00:00.0001Z',
        'must be a time with a zone and at most milliseconds, such as "2026-12-31T18:00:00Z"',
      ],
      ['colour', 'blue', 'must be one of red, green'],
      ['tags', 'a', 'must be a list'],
      ['tags', ['a', 'b', 'c', 'd'], 'must have at most 3 items'],
      ['tags', ['a', 'toolong'], 'must have at most 5 characters', 'tags.1'],
      ['tags', ['a', null], 'must not be null', 'tags.1'],
      [
        'lines',
        [{ price: '1' }, { price: 'x' }],
        'must be a decimal as a string, such as "10.50", with at most 16 digits before the point and 2 after it',
        'lines.1.price',
      ],
      ['lines', [{ price: '1', more: 1 }], 'is not a field here', 'lines.0.more'],
      [
        'anything',
        { a: [1, 2 ** 53 + 2] },
        'must not be a whole number beyond 2^53, which cannot be kept exactly; send it as a text',
        'anything.a.1',
      ],
      ['anything', { a: 'x\ud800' }, 'must not contain half of a surrogate pair', 'anything.a'],
      ['inner', 'x', 'must be an object'],
      ['inner', [], 'must be an object'],
    ]
    const before = await server.rows('things')
    for (const [field, value, sentence, path = field] of refused)
      expectInvalid(await create({ [field]: value }), { [path]: [sentence] })
    expect(await server.rows('things')).toBe(before)
  })

  test('numbers that JSON can write but no database can store', async () => {
    for (const [raw, path] of [
      ['"ratio":1e999', 'ratio'],
      ['"big":1e999', 'big'],
      ['"anything":[1e999]', 'anything.0'],
      ['"big":9007199254740993', 'big'],
      ['"ratio":9007199254740993', 'ratio'],
    ] as const) {
      const { status, body } = await server.call('POST', '/api/things/', { raw: `{"name":"n",${raw}}` })
      expect([raw, status, Object.keys(body.errors)]).toEqual([raw, 422, [path]])
    }
    expect((await create({ ratio: 6.02214076e-23 })).body.ratio).toBe(6.02214076e-23)
  })

  test('generated values come back equal', async () => {
    // Any character except NUL. `unit: 'binary'` would do the same, but takes most of a second.
    const unit = fc.integer({ min: 1, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
    const text = fc.string({ unit, maxLength: 40 }).filter((one) => one.isWellFormed())
    const clean = (value: unknown): boolean =>
      JSON.stringify(value) === JSON.stringify(JSON.parse(JSON.stringify(value)))
    const record = fc.record({
      name: text,
      big: fc.maxSafeInteger(),
      ratio: fc.double({ min: 0, max: 1e15, noNaN: true, noDefaultInfinity: true }).map((one) => one + 0),
      price: scaled(2).map(([whole, cents]) => `${whole}.${String(cents).padStart(2, '0')}`),
      fine: scaled(6).map(([whole, rest]) => `-${whole + 1}.${String(rest).padStart(6, '0')}`),
      flag: fc.boolean(),
      instant: fc
        .date({ min: new Date('0002-01-01'), max: new Date('9998-12-31'), noInvalidDate: true })
        .map((one) => one.toISOString()),
      anything: fc
        .jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
        .filter((one) => one !== null && clean(one) && !/\\u0000|e\+|\d{16}|-0\b/.test(JSON.stringify(one))),
      tags: fc.array(
        fc.string({ maxLength: 5 }).filter((one) => !one.includes('\0')),
        { maxLength: 3 },
      ),
    })
    await fc.assert(
      fc.asyncProperty(record, async (values) => {
        const { status, body } = await server.call('POST', '/api/things/', { body: values })
        expect(status).toBe(201)
        const read = (await server.call('GET', `/api/things/${body.id}/`)).body
        for (const [name, value] of Object.entries(values))
          expect([name, read[name]]).toEqual([name, JSON.parse(JSON.stringify(value))])
      }),
      { numRuns: runs(100) },
    )
  })

  test('PATCH merges into any JSON as into everything else', async () => {
    const { body } = await create({ anything: { a: 1, b: { c: 2, d: [1] }, e: null } })
    const patch = async (anything: unknown) =>
      (await server.expect(200, 'PATCH', `/api/things/${body.id}/`, { anything })).anything
    expect(await patch({ z: 1, a: null, b: { d: [2] } })).toEqual({ b: { c: 2, d: [2] }, e: null, z: 1 })
    expect(await patch([1])).toEqual([1])
    expect(await patch({ x: { y: null, k: 1 } })).toEqual({ x: { k: 1 } })
    expect(await patch(null)).toBeNull()
    await Promise.all(
      Array.from({ length: 16 }, (_, at) =>
        server.call('PATCH', `/api/things/${body.id}/`, { body: { anything: { [`k${at}`]: at } } }),
      ),
    )
    expect((await server.expect(200, 'GET', `/api/things/${body.id}/`)).anything).toEqual(
      Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, at])),
    )
  })

  test('a secret never comes back, and is kept as a hash', async () => {
    const { body } = await create({ pin: 'canary-pin-1234' })
    expect(JSON.stringify(body)).not.toContain('pin')
    const [row] = await server.query('SELECT pin FROM things WHERE id = $1', body.id)
    expect(row?.pin).toStartWith('$argon2id$')
    expect(JSON.stringify(await server.query('SELECT data FROM takeback_journal'))).not.toMatch(/pin|argon2/)
    expect((await server.call('GET', '/api/things/?pin=x')).body.errors).toEqual({
      pin: ['is not a parameter, nor a value of things'],
    })
    expect((await server.call('GET', '/api/things/?sort=pin')).status).toBe(422)
  })
})
