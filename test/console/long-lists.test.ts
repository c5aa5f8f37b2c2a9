import { beforeAll, expect, test } from 'bun:test'
import type { Page, Request } from 'playwright-core'
import { boolean, choice, date, datetime, decimal, entity, integer, ref, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, isDeep, onOneStore, type TestServer } from '../harness.ts'
import { expectSoon, KNOWN, openConsole } from './console.ts'

const COUNT = 3000
const MANY = isDeep ? 100_000 : 10_000
const MIDDLE = MANY / 2

/** Inserts rows whose values are computed from the number `i` of each. */
async function fill(server: TestServer, count: number, name: string, values: object): Promise<void> {
  const time = "'2026-01-01T00:00:00.000Z'"
  const columns = Object.entries({ version: 1, created_at: time, updated_at: time, ...values })
  await server.query(
    `INSERT INTO "${name}" (${columns.map(([column]) => `"${column}"`)})
      WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ${count})
      SELECT ${columns.map(([, value]) => value)} FROM counted`,
  )
}

/** Returns a function that returns the cursors read since its last call. */
function readPages(page: Page): () => string[] {
  let cursors: string[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/api/lines/' && !searchParams.has('count') && !searchParams.has('filter'))
      cursors.push(searchParams.get('cursor') ?? '')
  })
  return () => {
    const read = cursors
    cursors = []
    return read
  }
}

/** Scrolls through the list in steps of pixels, and returns the ids by their places. */
async function walk(page: Page, step: number): Promise<Record<number, number>> {
  const seen = await page.evaluate(`(async () => {
    const box = document.querySelector('.grid-scroll')
    const seen = {}
    for (;;) {
      await new Promise((done) => requestAnimationFrame(done))
      const isAtEnd = box.scrollTop === (${step} > 0 ? box.scrollHeight - box.clientHeight : 0)
      if (box.querySelector('.waiting') !== null) continue
      for (const row of box.querySelectorAll('tr[data-id]')) seen[row.ariaRowIndex - 2] = Number(row.dataset.id)
      if (isAtEnd) return seen
      box.scrollTop += ${step}
    }
  })()`)
  return seen as Record<number, number>
}

const lines = withAdmins({ lines: entity({ fields: { number: integer() } }) })

const places = withAdmins({
  many: entity({
    fields: { number: integer({ optional: true }), name: text() },
    index: [['number'], ['name']],
  }),
  houses: entity({ fields: { name: text() } }),
  rooms: entity({
    fields: {
      title: text({ sort: 'fold' }),
      house: ref('houses', { optional: true }),
      price: decimal({ optional: true }),
      built: date({ optional: true }),
      opened_at: datetime({ optional: true }),
      kind: choice(['attic', 'suite']),
      free: boolean({ default: false }),
    },
  }),
})

onOneStore('postgres', 'a place in a long list', places, (server) => {
  beforeAll(async () => {
    const letter = `substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ', i % 26 + 1, 1)`
    await fill(server, MANY, 'many', {
      number: `CASE WHEN i <= ${MANY - 500} THEN i END`,
      name: `${letter} || i`,
    })
  })

  test('is its end, or any value', async () => {
    const { page, open, close } = await openConsole(server)
    const row = (id: number) => page.locator(`tr[data-id="${id}"]`)
    const topId = () =>
      page.evaluate(`(() => {
        const top = document.querySelector('.grid thead').getBoundingClientRect().bottom + 5
        const all = [...document.querySelectorAll('tr[data-id]')]
        return Number(all.find((one) => one.getBoundingClientRect().bottom > top)?.dataset.id)
      })()`) as Promise<number>
    const goTo = async (value: string) => {
      await page.keyboard.press('g')
      await page.getByRole('textbox', { name: 'Value' }).or(page.getByRole('spinbutton')).fill(value)
      await page.keyboard.press('Enter')
    }
    let reads = 0
    page.on('request', (one) => {
      if (new URL(one.url()).pathname === '/api/many/') reads++
    })
    await open('/many?sort=number')
    await row(MANY - 499).waitFor()
    await page.keyboard.press('Home')
    await page.keyboard.press('End')
    await page.locator(`tr.current[data-id="${MANY - 500}"]`).waitFor()
    await eventually(async () => (await row(MANY - 500).getAttribute('aria-rowindex')) === `${MANY + 1}`)
    // Upwards, no row is skipped; at the first loaded row, the cursor waits for more.
    const current = async () => Number(await page.locator('tr.current').getAttribute('data-id'))
    const passed = new Set<number>()
    for (let at = await current(); at > MANY - 620; at = await current()) {
      passed.add(at)
      await page.keyboard.press('k')
    }
    expect([...passed]).toEqual(Array.from({ length: 120 }, (_, at) => MANY - 500 - at))
    expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0)
    await page.keyboard.press('Home')
    await row(MANY - 499).waitFor()

    await goTo(`${MIDDLE}`)
    await row(MIDDLE).waitFor()
    await expectSoon(topId, MIDDLE)
    await page.mouse.move(600, 500)
    await page.mouse.wheel(0, -340)
    await expectSoon(topId, MIDDLE - 10)
    await page.reload()
    await row(MIDDLE).waitFor()
    await expectSoon(topId, MIDDLE)
    await server.expect(200, 'PATCH', `/api/many/${MIDDLE + 3}/`, { name: 'Changed' })
    await row(MIDDLE + 3)
      .getByText('Changed')
      .waitFor()
    await server.expect(200, 'DELETE', `/api/many/${MIDDLE + 1}/`)
    await row(MIDDLE + 1).waitFor({ state: 'detached' })
    await expectSoon(() => row(MIDDLE + 2).getAttribute('aria-rowindex'), null)

    // To another page and back: the list is at the same place.
    await row(MIDDLE + 4).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goBack()
    await row(MIDDLE + 4).waitFor()
    await expectSoon(topId, MIDDLE)

    // Rows without a value are at the end.
    await page.getByRole('button', { name: 'Number', exact: true }).click()
    await row(MANY - 500).waitFor()
    await goTo('0')
    await row(MANY).waitFor()
    await expectSoon(topId, MANY)
    await page.keyboard.press('k')
    await row(1).waitFor()

    await page.getByRole('button', { name: 'Name', exact: true }).click()
    const firstBy = async (filter: string): Promise<number> => {
      const { data } = await server.expect(200, 'GET', `/api/many/?sort=name&limit=1&filter=${filter}`)
      return data[0].id
    }
    await row(await firstBy('true')).waitFor()
    await goTo('m')
    const id = await firstBy('name >= "M"')
    await row(id).waitFor()
    await expectSoon(topId, id)
    // However far the user goes, a few pages are enough.
    expect(reads).toBeLessThan(60)
    await close()
  })

  test('is entered without leaving out a row, whatever the order', async () => {
    await server.expect(201, 'POST', '/api/houses/', [{ name: 'Old' }, { name: 'new' }, { name: 'Mill' }])
    const rooms = Array.from({ length: 150 }, (_, at) => ({
      title: `${at % 2 ? 'é' : 'E'}${'abcdef'.charAt(at % 6)} ${at}`,
      house: at % 4 === 3 ? null : { id: (at % 4) + 1 },
      price: at % 7 === 0 ? null : `${at % 10}.50`,
      built: at % 5 === 0 ? null : `2026-01-${String((at % 28) + 1).padStart(2, '0')}`,
      opened_at: at % 3 === 0 ? null : `2026-02-01T${String(at % 24).padStart(2, '0')}:00:00Z`,
      kind: at % 3 ? 'attic' : 'suite',
    }))
    await server.expect(201, 'POST', '/api/rooms/', rooms)
    const { page, open, close } = await openConsole(server, { viewport: { width: 900, height: 2400 } })
    await open('/rooms')
    for (const [sort, value] of [
      ['title', 'ed'],
      ['-title', 'Éc'],
      ['house.name', 'Mi'],
      ['-house.name', 'Old'],
      ['-price', '4.50'],
      ['built', '2026-01-12'],
      ['-opened_at', '2026-02-01T05:00:00Z'],
      ['-price,kind,title', '0'],
      ['kind,-id', 'end'],
      ['-free', 'end'],
    ]) {
      const go = value === 'end' ? 'end' : JSON.stringify(value)
      const address = `/console/rooms?${new URLSearchParams({ sort: String(sort), go: String(go) })}`
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})`)
      await eventually(
        async () => (await page.locator('.grid-scroll.behind').count()) === 0 && page.url().includes(address),
      )
      await page.locator('tr.current').waitFor()
      // At the top, rows know their places.
      await eventually(() =>
        page.locator('.grid-scroll').evaluate((box) => {
          box.scrollTop = 0
          return box.querySelector('tr[data-id][aria-rowindex="2"]') !== null
        }),
      )
      const { data } = await server.expect(200, 'GET', `/api/rooms/?limit=200&fields=id&sort=${sort}`)
      const all = Object.fromEntries(data.map(({ id }: { id: number }, at: number) => [at, id]))
      expect([sort, await walk(page, 2000)]).toEqual([sort, all])
    }
    await close()
  })
})

onOneStore('sqlite', 'long lists', lines, (server) => {
  beforeAll(() => fill(server, COUNT, 'lines', { number: 'i' }))

  test('are scrolled to their end and back, and keep in memory only what is near', async () => {
    const { page, open, close } = await openConsole(server, { viewport: { width: 900, height: 2400 } })
    const read = readPages(page)
    await open('/lines')
    await page.getByText('3,000 in total').waitFor()
    const all = Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [at, COUNT - at]))
    expect(await walk(page, 2000)).toEqual(all)
    const down = read()
    expect(down.length).toBe(new Set(down).size)
    expect(await walk(page, -2000)).toEqual(all)
    const up = read()
    expect(up.length).toBe(new Set(up).size)
    // Pages that were still in memory are not read again: those of a thousand rows above the view at the last read,
    // which may be 350 rows above the end. Of the 16 pages, these are at most 8, or 9 in part.
    expect(down.length - up.length).toBeLessThanOrEqual(9)
    await close()
  })

  test('go on from where somebody was, with what others have done meanwhile', async () => {
    const { page, open, close } = await openConsole(server)
    await open('/lines?sort=number')
    await page.getByText('3,000 in total').waitFor()
    const top = (place: number) =>
      page.locator('.grid-scroll').evaluate((box, y) => {
        box.scrollTop = y
      }, place * 34)
    const row = (number: number) => page.locator(`tr[data-id="${number}"]`)
    await row(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await walk(page, 2000)
    await page.keyboard.press('End')
    await page.keyboard.press('x')
    await page.getByText('2 selected').waitFor()

    // Far up: removed rows disappear, and the rows in view do not move.
    await top(2900)
    const { y } = (await row(2910).boundingBox()) ?? {}
    await server.expect(200, 'DELETE', '/api/lines/3/')
    await page.getByText('2,999 in total').waitFor()
    expect((await row(2910).boundingBox())?.y).toBe(y)
    await server.expect(200, 'PATCH', '/api/lines/5/', { number: 1_000_000 })
    await server.expect(200, 'PATCH', '/api/lines/2911/', { number: 29_110 })
    await row(2911).getByText('29,110').waitFor()

    await page.keyboard.press('Home')
    await row(5).getByText('1,000,000').waitFor()
    await expectSoon(() => row(1).getByRole('checkbox').isChecked(), true)
    await expectSoon(() => row(3).count(), 0)
    await expectSoon(() => row(4).getAttribute('aria-rowindex'), '4')

    // To another page and back; a row is changed while nobody listens.
    await top(1500)
    await row(1510).waitFor()
    await row(1510).click()
    await page.getByRole('heading', { level: 1, name: '1510' }).waitFor()
    await server.expect(200, 'PATCH', '/api/lines/1509/', { number: 15_090 })
    await page.goBack()
    await row(1509).getByText('15,090').waitFor()

    // Another column, which must be read, moves nothing.
    const { y: was } = (await row(1510).boundingBox()) ?? {}
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'Version' }).check()
    await page.getByRole('columnheader', { name: 'Version' }).waitFor()
    expect((await row(1510).boundingBox())?.y).toBe(was)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Home')
    await row(1).waitFor()
    await close()
  })

  test('leave nothing behind when somebody goes from page to page', async () => {
    const { page, open, go: goTo, close } = await openConsole(server)
    const feeds = new Set<Request>()
    page.on('request', (one) => new URL(one.url()).pathname === '/api/changes/' && feeds.add(one))
    page.on('requestfailed', (one) => feeds.delete(one))
    page.on('requestfinished', (one) => feeds.delete(one))
    await open('/lines')
    const go = async (path: string, name: string) => {
      await goTo(path)
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }
    const walk = async (ids: readonly number[]) => {
      for (const id of ids) {
        await go(`/lines/${id}`, `${id}`)
        await go('/operations', 'Operations')
        await go('/system', 'System')
        await go(`/lines?filter=id<${id}`, 'Lines')
        await page.getByRole('row').nth(1).waitFor()
      }
    }
    const inspector = await page.context().newCDPSession(page)
    await inspector.send('Performance.enable')
    const listeners = async () => {
      await inspector.send('HeapProfiler.collectGarbage')
      const { metrics } = await inspector.send('Performance.getMetrics')
      return metrics.find(({ name }) => name === 'JSEventListeners')?.value ?? Number.NaN
    }
    const answers = async () => Number(await page.evaluate(`${KNOWN}.getQueryCache().getAll().length`))
    await walk([100, 101])
    const before = await listeners()
    await walk([102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113])
    await eventually(async () => (await listeners()) < before + 5)
    await eventually(async () => (await answers()) < 60)
    await expectSoon(async () => feeds.size, 1)
    await close()
  })

  test('are summed up, exported as JSON, and fit on a phone', async () => {
    const { page, open, close } = await openConsole(server, { viewport: { width: 360, height: 640 } })
    await open('/lines?filter=id>=200+%26%26+id<210&sort=id')
    await page.getByText('10 of', { exact: false }).waitFor()
    await expectSoon(() => page.evaluate('document.documentElement.scrollWidth'), 360)
    await page.getByRole('button', { name: 'Summary' }).click()
    await page.getByRole('row', { name: 'Number' }).getByText('2,045').waitFor()
    await expectSoon(() => page.evaluate('document.documentElement.scrollWidth'), 360)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Export' }).click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'As JSON' }).click(),
    ])
    const rows: any[] = await Bun.file(await file.path()).json()
    expect(rows.map(({ id, number }) => [id, number])).toEqual(
      Array.from({ length: 10 }, (_, at) => [200 + at, 200 + at]),
    )
    await close()
  })
})
