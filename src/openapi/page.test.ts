import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { app, choice, entity, everyone, integer, list, object, ref, text } from '../declare/define.ts'
import { resolve } from '../declare/resolve.ts'
import { catalogue } from '../errors.ts'
import { documentOf } from './document.ts'
import { html } from './html.ts'
import { pageOf } from './page.ts'
import { scriptHash } from './page-script.ts'

const EVIL = `</code><script>alert("it's 1 & only")</script>`

const page = pageOf(
  resolve(
    app({
      entities: {
        rooms: entity({ fields: { title: text({ example: EVIL }) }, access: { read: everyone } }),
        bookings: entity({
          fields: {
            room: ref('rooms', { onDelete: 'cascade' }),
            kind: choice([EVIL, 'plain'], { default: EVIL }),
            address: object({ zip: text({ pattern: '^[<>&]{5}$', optional: true }) }, { optional: true }),
            lines: list(object({ count: integer({ max: 9 }) })),
          },
        }),
      },
    }),
  ),
  'http://127.0.0.1:3000',
)

describe('the reference page', () => {
  test('escapes all that is declared, and has one script, whose hash is known', () => {
    const scripts = [...page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, text = '']) => text)
    expect(scripts).toHaveLength(1)
    expect(page.split('<script')).toHaveLength(2)
    const digest = createHash('sha256')
      .update(scripts[0] ?? '')
      .digest('base64')
    expect(scriptHash()).toBe(`sha256-${digest}`)
    expect(page).not.toMatch(/ on[a-z]+=/)
    expect(page).not.toContain('[<>&]')
    expect(page).toContain('&lt;script&gt;')
  })

  test('keeps an apostrophe from ending the quotes of a shell', () => {
    const [, body = ''] = /curl "\$BASE\/api\/rooms\/"[\s\S]*?-d '([^']*)'/.exec(page) ?? []
    expect(body).toContain('it\\u0027s')
  })

  test('has its headings in order, and each anchor once', () => {
    const levels = [...page.matchAll(/<h([1-6])/g)].map((match) => Number(match[1]))
    expect(levels.filter((level) => level === 1)).toHaveLength(1)
    for (const [at, level] of levels.entries()) expect(level).toBeLessThanOrEqual((levels[at - 1] ?? 0) + 1)
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
    expect(new Set(ids).size).toBe(ids.length)
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
  })

  test('loads nothing from elsewhere', () => {
    for (const [, address] of page.matchAll(/(?:src|href)="([^"]+)"/g))
      expect(address).toMatch(/^(#|\/api\/openapi\.json$|data:image\/svg\+xml,)/)
  })

  test('has every error, and every dot path', () => {
    const text = page.replaceAll('<wbr>', '')
    for (const code of Object.keys(catalogue)) expect(text).toContain(`<code>${code}</code>`)
    for (const path of ['room', 'kind', 'address', 'address.zip', 'lines', 'lines.N.count'])
      expect(text).toContain(`<code>${path}</code>`)
  })
})

test('html escapes text, keeps HTML, and joins lists', () => {
  expect(html`<p title="${'"'}">${[html`<b>${'<'}</b>`, 1, '&']}</p>`.text).toBe(
    '<p title="&quot;"><b>&lt;</b>1&amp;</p>',
  )
})

test('a default that not everybody sees is told to nobody', () => {
  const hidden = resolve(
    app({
      admins: 'staff',
      entities: {
        staff: entity({ login: { userType: 'staff' }, fields: {} }),
        things: entity({
          fields: {
            open: text({ default: 'for everybody' }),
            score: text({ default: 'canary', read: 'me.type == "staff"' }),
            inner: object({ note: text({ default: 'canary' }) }, { read: 'me.type == "staff"' }),
          },
          access: { read: everyone },
        }),
      },
    }),
  )
  const told = pageOf(hidden, 'http://127.0.0.1:3000') + JSON.stringify(documentOf(hidden))
  expect([told.includes('for everybody'), told.includes('canary')]).toEqual([true, false])
})
