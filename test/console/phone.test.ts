import { beforeAll, test } from 'bun:test'
import { onOneStore } from '../harness.ts'
import { expectSoon, openConsole } from './console.ts'
import { fill, rowOf, shop } from './orders.ts'

const PHONE = {
  en: {
    menus: ['Filter', 'Summary', 'Order', 'Views', 'Columns', 'Export'],
    order: 'Order',
    sortedBy: 'Sorted by',
    acts: ['Export', 'Edit', 'Delete'],
    back: 'Look back',
    restore: 'Restore',
  },
  de: {
    menus: ['Filter', 'Übersicht', 'Reihenfolge', 'Ansichten', 'Spalten', 'Exportieren'],
    order: 'Reihenfolge',
    sortedBy: 'Sortiert nach',
    acts: ['Exportieren', 'Ändern', 'Löschen'],
    back: 'Rückblick',
    restore: 'Wiederherstellen',
  },
}

/** To be evaluated in a page: whether it is wider than the screen, and the topmost controls that cannot be touched. */
const OUT_OF_REACH = `(() => {
  const top = document.querySelector('dialog[open]') ?? document.querySelector('.menu:popover-open')
  const all = [...(top ?? document.body).querySelectorAll('button, select, input, a.button')]
  const isTouched = (one) => {
    const { left, right, top, bottom, width } = one.getBoundingClientRect()
    if (width === 0 || one.disabled || one.closest('.visually-hidden, thead, .sidebar, .toasts') !== null) return true
    if (left < 0 || right > innerWidth) return false
    const [x, y] = [(left + right) / 2, (top + bottom) / 2]
    // What is further down comes by scrolling.
    const box = one.closest('.menu, .dialog-body, .grid-scroll, dialog')?.getBoundingClientRect()
    if (y > (box?.bottom ?? innerHeight) || y > innerHeight) return one.closest('.menu, dialog, .grid-scroll') !== null
    const hit = document.elementFromPoint(x, y)
    if (one.contains(hit) || hit?.closest('label')?.contains(one)) return true
    // Rows can be scrolled above what lies on the list.
    return one.closest('.grid-scroll') !== null && hit?.closest('.selection-bar, .time-panel') != null
  }
  const wide = document.scrollingElement.scrollWidth > innerWidth ? ['the page is wider than the screen'] : []
  return [...wide, ...all.filter((one) => !isTouched(one)).map((one) => one.outerHTML.slice(0, 200))]
})()`

onOneStore('sqlite', 'lists on a phone', shop, (server) => {
  beforeAll(() => fill(server))

  for (const [language, size, words] of [
    ['en-US', { width: 360, height: 740 }, PHONE.en],
    ['de-DE', { width: 390, height: 844 }, PHONE.de],
  ] as const)
    test(`fit, and all can be reached: ${language}`, async () => {
      const options = { viewport: size, isMobile: true, hasTouch: true, locale: language }
      const { page, open, close } = await openConsole(server, options)
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
      const fits = async (what: string) => {
        await expectSoon(async () => [what, await page.evaluate(OUT_OF_REACH)], [what, []])
      }
      await open('/orders?filter=quantity+<+20+%26%26+status=="paid"')
      await rowOf(page, 'Order 18').waitFor()
      await fits('the list')
      for (const menu of words.menus) {
        await press(menu)
        await page.getByRole('dialog', { name: menu }).locator(':is(button, input, select)').first().waitFor()
        await fits(menu)
        await page.keyboard.press('Escape')
        await page.getByRole('dialog', { name: menu }).waitFor({ state: 'hidden' })
      }
      await press(words.order)
      await page.getByLabel(words.sortedBy).selectOption('quantity')
      await expectSoon(() => page.locator('tr[data-id]').first().getAttribute('data-id'), '1')
      await page.keyboard.press('Escape')
      await rowOf(page, 'Order 0').getByRole('checkbox').check()
      await rowOf(page, 'Order 2').first().getByRole('checkbox').check()
      await fits('the selection')
      for (const act of words.acts) {
        await page.locator('.selection-bar').getByRole('button', { name: act, exact: true }).click()
        await page.locator('dialog[open] footer button, .menu:popover-open button').first().waitFor()
        await fits(act)
        await page.keyboard.press('Escape')
      }
      await page.locator('dialog[open]').waitFor({ state: 'hidden' })
      await press(words.back)
      await page.getByRole('slider').waitFor()
      await fits('the past')
      const { id } = await server.expect(201, 'POST', '/api/orders/', { title: 'Gone' })
      await server.expect(200, 'DELETE', `/api/orders/${id}/`)
      await open('/orders?trashed=only')
      await rowOf(page, 'Gone').getByRole('checkbox').check()
      await page.locator('.selection-bar').getByRole('button', { name: words.restore }).waitFor()
      await fits('the trash')
      await server.expect(204, 'DELETE', `/api/orders/${id}/?purge=1`)
      await close()
    })
})
