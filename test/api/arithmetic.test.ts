import { beforeAll, expect, test } from 'bun:test'
import { decimal, entity, everyone, integer, list, number, object, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const optional = { optional: true } as const

/** A shop in which reserved stock is not for sale. */
const shop = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: { name: text(), credit: decimal() } }),
  products: entity({
    fields: {
      name: text(),
      stock: integer(optional),
      reserved: integer({ default: 0 }),
      price: decimal(optional),
      tax: decimal({ scale: 4, optional: true }),
      weight: number(optional),
      lines: list(object({ count: integer(), price: decimal() }), { default: [] }),
      cost: decimal({ optional: true, read: 'me.type == "admin"' }),
      margin: decimal({ optional: true, read: 'name == "pen"' }),
    },
    access: { read: everyone },
  }),
  orders: entity({
    fields: { product: ref('products'), count: integer(), owner: ref('users') },
    access: {
      create: `owner.id == me.id && product.stock - product.reserved >= count
        && count * product.price <= me.credit`,
      read: 'owner.id == me.id',
    },
  }),
})

onEveryStore('arithmetic', shop, (server) => {
  const asked = (filter: string) => `/api/products/?filter=${encodeURIComponent(filter)}`
  const names = async (filter: string): Promise<string> => {
    const { data } = await server.expect(200, 'GET', asked(filter))
    return data.map(({ name }: { name: string }) => name).join(' ')
  }
  let ann = { id: 0, token: '' }

  beforeAll(async () => {
    ann = await server.user('users', { email: 'ann@example.com', name: 'Ann', credit: '10' })
    await server.expect(201, 'POST', '/api/products/', [
      { name: 'pen', stock: 5, reserved: 4, price: '1.10', tax: '0.0770', weight: 0.1, margin: '3' },
      { name: 'ink', stock: 2, reserved: 2, price: '9999999999999999.99', weight: 2.5, cost: '1' },
      { name: 'pad', stock: 9007199254740991, price: '0.01', weight: 1e-200, margin: '3' },
      { name: 'cap', lines: [{ count: 3, price: '0.10' }] },
    ])
  })

  test('has one meaning on every database', async () => {
    for (const [filter, found] of [
      ['stock - reserved >= 1', 'pen pad'],
      ['!(stock - reserved >= 1)', 'ink'],
      // Operations on different types of numbers lose no digits.
      ['stock * price == 5.5', 'pen'],
      ['price * tax == "0.084700"', 'pen'],
      ['price + tax > 1.17 && price + tax < 1.18', 'pen'],
      ['price * 1.1 == 1.21', 'pen'],
      ['round(price * tax, 2) == 0.08', 'pen'],
      ['weight * 3 == 0.30000000000000004', 'pen'],
      ['stock * weight == 5', 'ink'],
      ['stock < price', 'ink'],
      ['price == weight + 1', 'pen'],
      ['price > weight', 'pen ink pad'],
      ['weight == 0.1 && weight < price && price < stock', 'pen'],
      ['lines.exists(l, l.count * l.price == 0.3)', 'cap'],
      ['name + "s" == "pens"', 'pen'],
      // Division rounds towards zero; a remainder has the sign of the dividend.
      ['-stock / 2 == -2 && -stock % 2 == -1', 'pen'],
      ['price / 3 == 0.366667', 'pen'],
      ['price % 1 == 0.1', 'pen'],
      ['min(stock, reserved, 3) == 3', 'pen'],
      ['max(price, stock) == 5.0', 'pen'],
      ['round(weight) == 3 || abs(reserved - stock) == 1', 'pen ink'],
      // An overflow or a division by zero is neither true nor false.
      ['stock + 1 > 0', 'pen ink'],
      ['!(stock + 1 > 0)', ''],
      ['stock * stock * stock > 0', 'pen ink'],
      ['price * 100 > 0', 'pen pad'],
      ['price + 1 > 0', 'pen pad'],
      ['stock / (reserved - 2) != 0 || stock % (reserved - 2) != 0', 'pen pad'],
      ['price / (reserved - 2) != 0 || price % (reserved - 2) != 0', 'pen pad'],
      ['weight / (weight - 2.5) < 0', 'pen'],
      ['weight * 1e150 > 1', 'pen'],
      ['weight * 1e150 == 0', 'pad'],
      ['1 / 0 == 1 || 9007199254740991 + 1 > 0', ''],
    ] as const)
      expect([filter, await names(filter)]).toEqual([filter, found])
  })

  test('says what is wrong', async () => {
    for (const [filter, said] of [
      [
        'price * weight > 1',
        'mixes a number with a decimal, which would lose digits; make it a decimal with round(…, places), at column 1',
      ],
      [
        'tax * tax * tax > 1',
        'has a product with 12 decimal places, more than 9; use round(…, places) first',
      ],
      ['weight % 2 == 1', 'has a remainder of numbers; use "%" with integers or decimals'],
      ['name - "a" == name', 'on both sides of "-"'],
      ['name + 1 == name', 'on both sides of "+"'],
      ['stock + true == 1', 'on both sides of "+"'],
      ['weight * 1e200 > 1', '1e+200 is beyond 1e+150'],
      ['stock + 9007199254740992 > 1', '9007199254740992 is beyond 2^53'],
      ['round(price, 10) > 1', 'needs a number of decimal places from 0 to 9'],
      ['min(stock) > 1', 'needs two or more values in min()'],
      ['max(stock, name) > 1', 'needs only numbers, only dates or only times in max()'],
      ['abs(name) > 1', 'needs a number in abs()'],
      ['stock + reserved', 'needs something that is true or false'],
    ] as const) {
      const { status, body } = await server.call('GET', asked(filter))
      expect([filter, status, body.errors?.filter?.[0]]).toEqual([filter, 422, expect.stringContaining(said)])
    }
  })

  test('is part of rules', async () => {
    const order = (product: number, count: number) =>
      server.call('POST', '/api/orders/', {
        body: { product: { id: product }, count, owner: { id: ann.id } },
        token: ann.token,
      })
    expect((await order(1, 1)).status).toBe(201)
    expect((await order(1, 2)).status).toBe(403)
    expect((await order(3, 1000)).status).toBe(201)
    expect((await order(3, 1001)).status).toBe(403)
  })

  test('tells nothing of what the caller may not see', async () => {
    const as = (filter: string) => server.call('GET', asked(filter), { token: ann.token })
    const hidden = await as('cost + 1 > 0')
    const unknown = await as('cist + 1 > 0')
    expect([hidden.status, hidden.body.errors.filter[0].replace('cost', 'cist')]).toEqual([
      422,
      unknown.body.errors.filter[0],
    ])
    for (const filter of ['margin * 2 == 6', 'max(margin, 1) == 3', 'abs(margin) > 0', 'margin + price > 0'])
      expect([filter, (await as(filter)).body.data.map(({ id }: { id: number }) => id)]).toEqual([
        filter,
        [1],
      ])
  })
})
