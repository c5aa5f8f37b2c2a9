import { beforeAll, expect, test } from 'bun:test'
import type { Page, Request } from 'playwright-core'
import { entity, integer } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { eventually, onStore, type TestServer } from '../harness.ts'
import { expectSoon, KNOWN, openConsole } from './console.ts'

const COUNT = 3000

async function fill(server: TestServer): Promise<void> {
  await server.query(
    `INSERT INTO "lines" ("version", "created_at", "updated_at", "number")
      WITH RECURSIVE counted(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < ${COUNT})
      SELECT 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', i FROM counted`,
  )
}

/** The cursors of the pages that were read since this was last asked. */
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

/** Goes through the list by so many pixels at a time, and notes what stands where: the ids by their places. */
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

onStore('sqlite', 'long lists', lines, (server) => {
  beforeAll(() => fill(server))

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
    // Those that were still there are not read again: no more than a thousand rows above the end.
    expect(down.length - up.length).toBeLessThanOrEqual(7)
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
    while (!(await row(COUNT).isVisible())) await page.keyboard.press('End')
    await page.keyboard.press('x')
    await page.getByText('2 selected').waitFor()

    // Far above: what is gone leaves, and nothing that somebody looks at moves.
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
    const { page, open, close } = await openConsole(server)
    const feeds = new Set<Request>()
    page.on('request', (one) => new URL(one.url()).pathname === '/api/changes/' && feeds.add(one))
    page.on('requestfailed', (one) => feeds.delete(one))
    page.on('requestfinished', (one) => feeds.delete(one))
    await open('/lines')
    const go = async (path: string, name: string) => {
      await page.evaluate(`history.pushState(null, '', '/console${path}')`)
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
