import { expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import type { TestServer } from '../harness.ts'
import { theBrowser } from '../process/chromium.ts'

/** Nearly as long as a test may take: a page needs its time on a busy machine. */
const PATIENCE = 100_000

/** That a page comes to show it: after an answer, or with the next news. */
export async function expectSoon<T>(read: () => Promise<T>, expected: T): Promise<void> {
  const end = performance.now() + PATIENCE
  let shown = await read()
  while (!Bun.deepEquals(shown, expected) && performance.now() < end) {
    await Bun.sleep(50)
    shown = await read()
  }
  expect<unknown>(shown).toEqual(expected)
}

/** To be evaluated in a page: what it knows from the API. React knows where that is. */
export const KNOWN = `(() => {
  const root = document.getElementById('root')
  let at = root[Object.keys(root).find((name) => name.startsWith('__reactContainer'))]
  while (at.memoizedProps?.client === undefined) at = at.child
  return at.memoizedProps.client
})()`

/** A page of the console, and what went wrong on it. */
export interface ConsolePage {
  readonly page: Page
  /** What a person would call a defect: exceptions, errors in the browser's console, reports of the CSP. */
  readonly complaints: string[]
  /** Loads a page of the console: `open('/rooms')`. */
  open(path: string): Promise<void>
  /** Goes to a page of the console, as a link does: it is not loaded anew. */
  go(path: string): Promise<void>
  /** That axe finds nothing wrong with what is shown now. */
  expectAccessible(): Promise<void>
  close(): Promise<void>
}

interface Opening extends BrowserContextOptions {
  /** Whose page it is; `null` for nobody. Default: an admin. */
  readonly token?: string | null
  /** The name of the server in the browser. Default: its address. */
  readonly host?: string
}

/** Windows that nobody uses now, by how they were opened. Each has an empty page of its last server, and no storage. */
const idle = new Map<string, Page[]>()

/** Windows that cannot be used by another test. */
const spent = new WeakSet<Page>()

/** A new window costs half a second of a core, and a page in a used one half of that. */
async function takePage(options: BrowserContextOptions): Promise<Page> {
  const used = idle.get(JSON.stringify(options))?.pop()
  if (used !== undefined) return used
  const context = await (await theBrowser()).newContext(options)
  context.setDefaultTimeout(PATIENCE)
  return context.newPage()
}

/** Leaves nothing of a test in its window, and keeps the window for the next one. */
async function givePageBack(page: Page, options: BrowserContextOptions, origin: string): Promise<void> {
  const context = page.context()
  if (spent.has(page)) return context.close()
  for (const other of context.pages()) if (other !== page) await other.close()
  page.removeAllListeners()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  // It runs no script, so nothing is written after this.
  await page.goto(`${origin}/console/-/icon.svg`)
  await page.evaluate('(localStorage.clear(), sessionStorage.clear())')
  await context.clearCookies()
  const key = JSON.stringify(options)
  idle.set(key, [...(idle.get(key) ?? []), page])
}

/** A browser window for one test, signed in, empty until `open`. `close` fails if the browser has complained. */
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
    // The API refuses what it must: the page shows that.
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

/** Every page that is loaded has this session, unless it has another one. */
function signInWith(page: Page, origin: string, token: string) {
  return page.addInitScript(
    ([name, kept]) => {
      if (localStorage.getItem(name) === null) localStorage.setItem(name, kept)
    },
    [`takeback ${origin}`, JSON.stringify({ token })] as const,
  )
}

/** Fills in the form to sign in. The labels in full: other forms have a "Current password". */
export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Somebody looks elsewhere for a while and comes back: the page asks anew for what it shows, here for `path`. */
export async function lookAway(page: Page, path?: string): Promise<void> {
  // From here on: timers that are due by then may make the page ask before it is told that somebody looks.
  const answered = path && page.waitForResponse((answer) => new URL(answer.url()).pathname === path)
  // A second time it would go back to the present, in which nothing is old. It stays as long as the window.
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
  // Not as an element: the page's policy would not run it.
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
