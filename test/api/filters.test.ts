import { beforeAll, describe, expect, test } from 'bun:test'
import { datetime, entity, everyone, integer, ref, text } from '../../src/takeback.ts'
import { everything, withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

onEveryStore('filters', everything, (server) => {
  const names = async (filter: string, more = ''): Promise<string[]> => {
    const { data } = await server.expect(
      200,
      'GET',
      `/api/things/?filter=${encodeURIComponent(filter)}&limit=200${more}`,
    )
    return data.map(({ name }: { name: string }) => name)
  }
  const mistake = async (filter: string): Promise<string> => {
    const received = await server.call('GET', `/api/things/?filter=${encodeURIComponent(filter)}`)
    expect([filter, received.status]).toEqual([filter, 422])
    return received.body.errors.filter.join('|')
  }

  beforeAll(async () => {
    const things = [
      { name: 'a', count: 1, price: '1.50', colour: 'red', flag: true, tags: ['x', 'y'], day: '2026-01-01' },
      { name: 'b', count: 2, price: '10', colour: 'green', flag: false, instant: '2026-05-01T12:00:00Z' },
      { name: 'c', ratio: 2.5, lines: [{ price: '3' }, { price: '7', note: 'n' }], tags: [] },
      { name: 'Äpfel', site: 'https://example.com/a', inner: { deep: { word: 'w' }, flag: true } },
      { name: 'a_%', mail: 'a@example.com', big: 9007199254740991, fine: '0.000001', day: '2999-12-31' },
      { name: 'child', parent: { id: 1 }, inner: { deep: {} } },
      { name: 'grandchild', parent: { id: 6 } },
    ]
    for (const thing of things) await server.expect(201, 'POST', '/api/things/', thing)
  })

  test('compare every kind of value', async () => {
    for (const [filter, found] of [
      ['name == "a"', ['a']],
      ['name != "a" && count != null', ['b']],
      ['count >= 2', ['b']],
      ['count > 1.5', ['b']],
      ['2 > count', ['a']],
      ['count == null && ratio == null && id < 5', ['Äpfel']],
      ['count in [1, 5]', ['a']],
      ['!(count in [1, 5])', ['b']],
      ['ratio == 2.5', ['c']],
      ['ratio > 2', ['c']],
      ['price > 1.499', ['a', 'b']],
      ['price >= 1.505', ['b']],
      ['price <= "1.50"', ['a']],
      ['price == 10', ['b']],
      ['price < -1.5', []],
      ['fine == 0.000001', ['a_%']],
      ['fine < 0.0000015', ['a_%']],
      ['fine > 0.0000001', ['a_%']],
      ['big == 9007199254740991', ['a_%']],
      ['flag', ['a']],
      ['!flag', ['b']],
      ['flag == false', ['b']],
      ['flag == true || flag == null && count == 2', ['a']],
      ['colour == "red" || colour == "green"', ['a', 'b']],
      ['colour < "red"', ['b']],
      ['day == "2026-01-01"', ['a']],
      ['day < now', ['a']],
      ['day > now + duration("24h")', ['a_%']],
      ['day >= timestamp("2026-01-01T00:00:00Z")', ['a', 'a_%']],
      ['day >= timestamp("2026-01-01T00:00:00.001Z")', ['a_%']],
      ['day < timestamp("9999-12-31T12:00:00Z")', ['a', 'a_%']],
      ['day >= timestamp("9999-12-31T12:00:00Z")', []],
      ['instant < timestamp("9999-12-31T23:59:59Z") + duration("1h")', ['b']],
      ['instant - timestamp("9999-12-31T23:59:59Z") < duration("1h")', ['b']],
      ['instant > timestamp("0001-01-01T00:00:00Z") - duration("876000h")', ['b']],
      ['instant == timestamp("2026-05-01T14:00:00+02:00")', ['b']],
      ['instant < "2026-05-01T12:00:00.001Z"', ['b']],
      ['instant + duration("1h30m") == timestamp("2026-05-01T13:30:00Z")', ['b']],
      ['created_at > now - duration("1h") && name == "a"', ['a']],
      ['updated_at - created_at < duration("1s") && name == "a"', ['a']],
      ['parent != null', ['child', 'grandchild']],
      ['parent.id == 1', ['child']],
      ['parent.name == "a"', ['child']],
      ['parent.parent.name == "a"', ['grandchild']],
      ['parent.parent.parent.name == "a"', []],
      ['!(parent.name == "a")', ['grandchild']],
      ['parent.name.startsWith("ch")', ['grandchild']],
      ['parent.count in [1, 2]', ['child']],
      ['parent.name == name', []],
      ['!(name in [parent.name])', ['child', 'grandchild']],
      ['parent.id < id', ['child', 'grandchild']],
      ['inner == null && id > 5', ['grandchild']],
      ['inner.deep.word == "x"', ['child']],
      ['inner.deep != null', ['Äpfel', 'child']],
      ['has(parent.inner.deep)', ['grandchild']],
      ['has(inner.flag) && inner.flag', ['Äpfel']],
      ['deleted_at != null', []],
      ['version == 1 && name == "a"', ['a']],
    ] as const)
      expect([filter, await names(filter)]).toEqual([filter, [...found]])
  })

  test('look into texts and lists', async () => {
    for (const [filter, found] of [
      ['name.startsWith("a")', ['a', 'a_%']],
      ['name.startsWith("Ä")', ['Äpfel']],
      ['name.startsWith("")', ['a', 'b', 'c', 'Äpfel', 'a_%', 'child', 'grandchild']],
      ['name.endsWith("child")', ['child', 'grandchild']],
      ['name.endsWith("a_%")', ['a_%']],
      ['"B".startsWith("b")', []],
      ['me.type.startsWith("Adm")', []],
      ['(flag ? "a" : "B") < "_"', ['b']],
      ['name.contains("_%")', ['a_%']],
      ['name.contains("")', ['a', 'b', 'c', 'Äpfel', 'a_%', 'child', 'grandchild']],
      ['name.matches("^gr?and")', ['grandchild']],
      ['matches(name, "^[ab]$")', ['a', 'b']],
      ['site.contains("example")', ['Äpfel']],
      ['!site.contains("example")', []],
      ['name.lowerAscii() == "Äpfel"', ['Äpfel']],
      ['size(name) == 5', ['Äpfel', 'child']],
      ['name.size() > 5', ['grandchild']],
      ['size("äö") == count', ['b']],
      ['size(tags) == 2', ['a']],
      ['size(tags) == 0', ['c']],
      ['"x" in tags', ['a']],
      ['!("x" in tags)', ['c']],
      ['tags.exists(t, t == "y")', ['a']],
      ['tags.exists(t, t.startsWith("y") && size(t) == 1)', ['a']],
      ['tags.all(t, t > "w")', ['a', 'c']],
      ['lines.exists(l, l.price > 5)', ['c']],
      ['lines.exists(l, l.price > 5 && l.note == "none")', []],
      ['lines.all(l, l.price >= 3)', ['c']],
      ['tags == null && lines == null && id < 3', ['b']],
      ['has(anything)', []],
      ['count == (flag ? 1 : 2)', ['a', 'b']],
      ['(flag ? price : price) == 1.5', ['a']],
      ['(flag ? count : ratio) > 0', ['a']],
      ['(flag ? 1 : 0.5) < count', ['b']],
      ['(count == 1) == flag', ['a', 'b']],
    ] as const)
      expect([filter, await names(filter)]).toEqual([filter, [...found]])
  })

  test('go together with equality, sort, count and fields', async () => {
    expect(await names('count > 0', '&flag=true')).toEqual(['a'])
    expect(await names('count > 0', '&sort=-name')).toEqual(['b', 'a'])
    expect(await names('id > 0', '&parent.name=a')).toEqual(['child'])
    expect(await names('parent != null', '&sort=-parent.name')).toEqual(['grandchild', 'child'])
    const page = await server.expect(
      200,
      'GET',
      '/api/things/?filter=count%3E0&count=1&fields=name&limit=1&sort=parent.name',
    )
    expect(page).toMatchObject({ data: [{ name: 'a' }], total: 2 })
    const next = await server.expect(
      200,
      'GET',
      `/api/things/?filter=count%3E0&limit=1&sort=parent.name&cursor=${page.next}`,
    )
    expect(next.data[0].name).toBe('b')
  })

  test('say what is wrong, where, and what would be right', async () => {
    for (const [filter, said] of [
      ['custmer == 1', 'unknown field "custmer" at column 1'],
      ['1 == 1 && nmae == "a"', 'unknown field "nmae" at column 11; did you mean "name"?'],
      ['parent.nme == "a"', 'unknown field "parent.nme" at column 8; did you mean "parent.name"?'],
      ['inner.dep.word == "a"', 'unknown field "inner.dep" at column 7; did you mean "inner.deep"?'],
      ['pin == "1234"', 'unknown field "pin" at column 1'],
      ['name = "a"', 'has a single "="; an equality is written "==" at column 6'],
      ['name == ', 'ends too early at column 9'],
      ['name == "a', 'has a text without its closing quote at column 9'],
      ['name == 3', 'must be a text, such as "abc" at column 9'],
      ['count == "3"', 'must be a number at column 10'],
      ['count == 99999999999999999999', 'is beyond 2^53 at column 10'],
      ['colour == "rde"', '"rde" is not one of its values; did you mean "red"? at column 11'],
      ['day == "2026-13-01"', 'must be a date, such as "2026-12-31" at column 8'],
      ['name', 'needs something that is true or false at column 1'],
      ['count', 'needs something that is true or false at column 1'],
      ['name < null', 'compares null with "<"; use == or != at column 1'],
      [
        'count + "a" == 2',
        'needs numbers, texts, or a time and a duration("…"), on both sides of "+" at column 1',
      ],
      ['(flag ? price : name) > 1', 'has two different types after "?" at column 2'],
      ['now + duration("876000h") + duration("876000h") > now', 'moves a time by more than 100 years'],
      ['name * 2 == 2', 'needs numbers on both sides of "*" at column 1'],
      ['name in [null]', 'has null in a list; use == null at column 10'],
      ['parent == 1', 'compares a whole Entity; compare its id, as in owner.id == me.id, at column 1'],
      ['tags == "x"', 'compares a whole list; use "in", size() or exists() at column 1'],
      ['anything == 1', 'compares a whole object; name a field of it at column 1'],
      ['name.foo()', 'uses foo(), which is not known'],
      ['name.matches("(?=a)")', 'has a pattern that cannot be read: look-ahead'],
      ['duration("x") > duration("1h")', 'needs a duration, such as duration("1h30m")'],
      ['parent.parent.parent.parent.name == "a"', 'follows more than 3 references at column 29'],
      ['tags.exists(name, name == "x")', 'calls an item "name", which is already a name at column 13'],
      ['tags.exists(t, tags.exists(u, u > t))', 'goes through a list for each item of another'],
      ['"\\u0000" == name', 'has a character that no text can have'],
      ['', 'is empty'],
      [`name == "${'x'.repeat(4096)}"`, 'is longer than 4096 bytes'],
      [Array(60).fill('flag').join('||'), 'has 119 parts, more than 100'],
      [`${'('.repeat(300)}flag${')'.repeat(300)}`, ''],
    ] as const)
      expect([filter, await mistake(filter)]).toEqual([filter, expect.stringContaining(said)])
  })

  test('take hostile texts as texts', async () => {
    for (const text of [
      "'; DROP TABLE things; --",
      '" OR 1 = 1',
      '%',
      '_',
      '\\',
      '$1',
      '?1',
      ':a',
      '$\u007bx}',
      '😀',
    ])
      expect(
        await names(`name == ${JSON.stringify(text)} || name.contains(${JSON.stringify(`${text}~`)})`),
      ).toEqual([])
  })

  test('are the same on the past', async () => {
    const at = encodeURIComponent(new Date(Date.now() + 1000).toISOString())
    expect(await names('count > 1 || "x" in tags', `&at=${at}`)).toEqual(['a', 'b'])
    expect(await names('parent.name == "a"', `&at=${at}`)).toEqual(['child'])
  })
})

const teams = withAdmins({
  rooms: entity({
    fields: { title: text(), house: ref('houses', { optional: true, as: 'rooms' }) },
    access: { read: everyone },
  }),
  houses: entity({ fields: { name: text() }, access: { read: everyone } }),
  bookings: entity({
    fields: { room: ref('rooms', { as: 'bookings' }), guests: integer(), starts_at: datetime() },
    access: { read: everyone },
  }),
})

onEveryStore('expansions', teams, (server) => {
  beforeAll(async () => {
    await server.expect(201, 'POST', '/api/houses/', { name: 'Old "House"' })
    for (const title of ['one', 'two'])
      await server.expect(201, 'POST', '/api/rooms/', { title, house: title === 'one' ? { id: 1 } : null })
    for (let at = 0; at < 25; at++)
      await server.expect(201, 'POST', '/api/bookings/', {
        room: { id: at < 23 ? 1 : 2 },
        guests: at,
        starts_at: new Date(Date.UTC(2026, 0, 1 + at)).toISOString(),
      })
  })

  describe('of references', () => {
    test('bring the target along, also nested', async () => {
      const one = await server.expect(200, 'GET', '/api/bookings/1/?expand=room.house')
      expect(one.room).toMatchObject({
        id: 1,
        title: 'one',
        house: { id: 1, name: 'Old "House"', version: 1 },
      })
      const { data } = await server.expect(
        200,
        'GET',
        '/api/bookings/?expand=room,room.house&sort=-guests&limit=3',
      )
      expect(data.map((each: any) => [each.guests, each.room.title, each.room.house?.name])).toEqual([
        [24, 'two', undefined],
        [23, 'two', undefined],
        [22, 'one', 'Old "House"'],
      ])
    })

    test('may use me, even without a user', async () => {
      const { data } = await server.expect(200, 'GET', '/api/rooms/?filter=id == me.id', undefined, {
        token: null,
      })
      expect(data).toEqual([])
    })

    test('come along whatever fields are asked for', async () => {
      const one = await server.expect(200, 'GET', '/api/bookings/1/?fields=id&expand=room')
      expect([Object.keys(one), one.room.title]).toEqual([['id', 'room'], 'one'])
    })

    test('are refused where there is no such reference', async () => {
      for (const [expand, said] of [
        ['nothing', '"nothing" is not a reference of bookings'],
        ['guests', '"guests" is not a reference of bookings'],
        ['room.title', '"room.title" is not a reference of rooms'],
        ['room.house.rooms.bookings', '"room.house.rooms.bookings" is more than 3 away'],
        ['', '"" is not a reference of bookings'],
      ]) {
        const { status, body } = await server.call('GET', `/api/bookings/?expand=${expand}`)
        expect([status, body.errors]).toEqual([422, { expand: [said] }])
      }
    })
  })

  test('of those that refer to it come 20 at a time, and go on in their own list', async () => {
    const { bookings } = await server.expect(200, 'GET', '/api/rooms/1/?expand=bookings')
    expect(bookings.data.map(({ guests }: any) => guests)).toEqual(Array.from({ length: 20 }, (_, at) => at))
    const rest = await server.expect(200, 'GET', `/api/bookings/?room.id=1&cursor=${bookings.next}`)
    expect(rest.data.map(({ guests }: any) => guests)).toEqual([20, 21, 22])
    const two = await server.expect(200, 'GET', '/api/rooms/2/?expand=bookings.room.house')
    expect(two.bookings).toMatchObject({
      data: [{ guests: 23, room: { title: 'two' } }, { guests: 24 }],
      next: null,
    })
    const house = await server.expect(200, 'GET', '/api/houses/1/?expand=rooms.bookings')
    expect(house.rooms.data[0].bookings.data).toHaveLength(20)
    await server.expect(200, 'DELETE', '/api/bookings/24/')
    const fewer = await server.expect(200, 'GET', '/api/rooms/?expand=bookings')
    expect(fewer.data[1].bookings.data.map(({ guests }: any) => guests)).toEqual([24])
  })
})
