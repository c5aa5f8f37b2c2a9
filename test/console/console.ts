import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { TestServer } from '../harness.ts'
import { theBrowser } from '../process/chromium.ts'

/** Nearly the time limit of a test: on a busy machine, a page takes long. */
const PATIENCE = 100_000

/** Waits until the page shows the expected value: after an answer, or after the next change. */
export async function expectSoon<T>(read: () => Promise<T>, expected: T): Promise<void> {
  const end = performance.now() + PATIENCE
  let shown = await read()
  while (!Bun.deepEquals(shown, expected) && performance.now() < end) {
    await Bun.sleep(50)
    shown = await read()
  }
  expect<unknown>(shown).toEqual(expected)
}

/** To be evaluated in a page: the page's cache of answers, found through React. */
export const KNOWN = `(() => {
  const root = document.getElementById('root')
  let at = root[Object.keys(root).find((name) => name.startsWith('__reactContainer'))]
  while (at.memoizedProps?.client === undefined) at = at.child
  return at.memoizedProps.client
})()`

/** A page of the console, and what went wrong on it. */
export interface ConsolePage {
  readonly page: Page
  /** Defects: exceptions, errors in the browser's console, CSP reports. */
  readonly complaints: string[]
  /** Loads a page of the console: `open('/rooms')`. */
  open(path: string): Promise<void>
  /** Goes to a page of the console like a link, without loading it again. */
  go(path: string): Promise<void>
  /** Expects axe to find no problem on the page. */
  expectAccessible(): Promise<void>
  close(): Promise<void>
}

interface Opening extends BrowserContextOptions {
  /** The token of the user; `null` for nobody. Default: an admin. */
  readonly token?: string | null
  /** The host name of the server in the browser. Default: its address. */
  readonly host?: string
}

/** Unused windows, by their options. Each shows an empty page of its last server, without storage. */
const idle = new Map<string, Page[]>()

/** Windows that no other test can use. */
const spent = new WeakSet<Page>()

/** Reuses a window: a new one costs half a second of processor time, a new page in a used one half of that. */
async function takePage(options: BrowserContextOptions): Promise<Page> {
  const used = idle.get(JSON.stringify(options))?.pop()
  if (used !== undefined) return used
  const context = await (await theBrowser()).newContext(options)
  context.setDefaultTimeout(PATIENCE)
  return context.newPage()
}

/** Removes all traces of a test from its window, and keeps the window for the next one. */
async function givePageBack(page: Page, options: BrowserContextOptions, origin: string): Promise<void> {
  const context = page.context()
  if (spent.has(page)) return context.close()
  for (const other of context.pages()) if (other !== page) await other.close()
  page.removeAllListeners()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  // This file runs no script, so nothing is stored after this.
  await page.goto(`${origin}/console/-/icon.svg`)
  await page.evaluate('(localStorage.clear(), sessionStorage.clear())')
  await context.clearCookies()
  const key = JSON.stringify(options)
  idle.set(key, [...(idle.get(key) ?? []), page])
}

/** Opens a browser window for one test, signed in, empty until `open`. `close` fails if there were complaints. */
export async function openConsole(
  server: TestServer,
  { token, host, ...given }: Opening = {},
): Promise<ConsolePage> {
  const { viewport = { width: 1280, height: 800 }, ...more } = given
  const options = { reducedMotion: 'reduce' as const, ...more }
  const page = await takePage(options)
  if (viewport !== null) await page.setViewportSize(viewport)
  const complaints: string[] = []
  const url = new URL(server.url)
  if (host !== undefined) url.hostname = host
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // Failed requests are expected: the page shows the error.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  const session = token === null ? undefined : (token ?? server.adminToken)
  const signedIn = session && (await signInWith(page, url.origin, session))
  return {
    page,
    complaints,
    async open(path) {
      await page.goto(`${url.origin}/console${path}`)
    },
    async go(path) {
      await page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`)
    },
    expectAccessible: () => expectAccessible(page),
    async close() {
      if (signedIn) await signedIn.dispose()
      await givePageBack(page, options, url.origin)
      expect(complaints).toEqual([])
    },
  }
}

/** Gives this session to every page that has no other. */
function signInWith(page: Page, origin: string, token: string) {
  return page.addInitScript(
    ([name, kept]) => {
      if (localStorage.getItem(name) === null) localStorage.setItem(name, kept)
    },
    [`takeback ${origin}`, JSON.stringify({ token })] as const,
  )
}

/** Fills in the sign-in form. Labels must match exactly, because other forms have a "Current password". */
export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Simulates a user who leaves the page for a while and comes back: the page refetches its data, here from `path`. */
export async function lookAway(page: Page, path?: string): Promise<void> {
  // Registered first: a timer may make the page refetch before the event is sent.
  const answered = path && page.waitForResponse((answer) => new URL(answer.url()).pathname === path)
  // Installed once per window: again, it would return to the present, where no data is old.
  if (!spent.has(page)) await page.clock.install()
  spent.add(page)
  await page.clock.fastForward(120_000)
  await page.evaluate('dispatchEvent(new Event("visibilitychange"))')
  await answered
}

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

async function expectAccessible(page: Page): Promise<void> {
  // Evaluated, not inserted as an element: the page's policy would not run that.
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe)
  const violations = await page.evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )
  const shown = (violations as Violation[]).map(({ id, nodes }) => [
    id,
    nodes[0]?.html,
    nodes[0]?.failureSummary,
  ])
  expect(shown).toEqual([])
}
