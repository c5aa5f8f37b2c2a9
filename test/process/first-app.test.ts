import { afterEach, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { eventually } from '../harness.ts'
import { blocksOf, commandsOf } from '../markdown.ts'
import { openChromium } from './chromium.ts'
import { linkCommand, must, quickNpx } from './package.ts'
import { buildLibrary, newFolder, root } from './process.ts'
import { Typist } from './typist.ts'

const blocks = blocksOf('docs/first-app.md')
/** The files that the page says to write, by the name in their first line. */
const files = new Map(
  blocks.flatMap(({ text }): [string, string][] => {
    const [, name] = /^(?:\/\/|<!--) ([\w.]+)/.exec(text) ?? []
    return name === undefined ? [] : [[name, text]]
  }),
)
const commands = blocks
  .filter(({ language }) => language === 'sh')
  .flatMap(commandsOf)
  .map(({ command }) => command)

const leave: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const one of leave.splice(0).reverse()) await one()
})
beforeAll(buildLibrary)

/** Does what the first commands of the page do, without the registry: npm links a folder without its packages. */
function makeProject(): string {
  const around = newFolder()
  const folder = join(around, 'shopping')
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(root, join(around, 'takeback'))
  symlinkSync('../../takeback', join(folder, 'node_modules', 'takeback'))
  linkCommand(folder)
  return folder
}

async function signUp(page: Page, url: string, email: string): Promise<void> {
  await page.goto(url)
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', 'four random short words')
  await page.click('#sign-up')
  await page.waitForSelector('#app:not([hidden])')
}

const linesOf = (page: Page) =>
  page.$$eval('#list li', (lines) =>
    lines.map(
      (line) => `${line.querySelector('input')?.checked ? 'x' : '-'} ${line.childNodes[1]?.textContent}`,
    ),
  )

test('docs/first-app.md, typed in: two people share a list, and one takes back what they have done', async () => {
  expect([...files.keys()]).toEqual(['takeback.config.ts', 'index.html', 'page.ts'])
  expect(commands.slice(0, 3)).toEqual(['mkdir ../shopping', 'cd ../shopping', 'npm install ../takeback'])
  const [init = '', serve = '', bundle = '', ...more] = commands.slice(3)
  expect(more).toEqual([])
  const folder = makeProject()
  const write = (name: string, url = '') =>
    writeFileSync(join(folder, name), files.get(name)?.replace('http://127.0.0.1:3000', url) ?? '')
  const PATH = quickNpx()
  must(folder, init, { PATH })
  write('takeback.config.ts')
  const typist = new Typist(folder, { PORT: '0', TAKEBACK_LOG: 'json', PATH })
  leave.push(() => typist.close())
  const { url } = await typist.start(serve.replace('http://localhost:5173', "'*'"))
  for (const name of ['index.html', 'page.ts']) write(name, url)
  // As an editor would: with the settings that init has written.
  must(folder, `"${join(root, 'node_modules', '.bin', 'tsc')}" -p . --checkers 1`)
  const shown = await typist.start(bundle.replace('--port 5173', '--port 0'), /url: (http:\S+)/)

  const browser = await openChromium()
  leave.push(() => browser.close())
  const [ada, bo] = await Promise.all([1, 2].map(async () => (await browser.newContext()).newPage()))
  if (ada === undefined || bo === undefined) throw new Error('there is no page')
  await signUp(ada, shown.url, 'ada@example.com')
  await signUp(bo, shown.url, 'bo@example.com')
  const bothSee = (...lines: string[]) =>
    eventually(async () => {
      const seen = await Promise.all([ada, bo].map(linesOf))
      return seen.every((one) => Bun.deepEquals(one, lines))
    })
  await ada.fill('[name=title]', 'Milk')
  await ada.click('#add button')
  await bothSee('- Milk')
  await bo.click('#list input')
  await bothSee('x Milk')
  await ada.click('#list button')
  await bothSee()
  await ada.click('#undo')
  await bothSee('x Milk')
  await bo.reload()
  await bothSee('x Milk')
})
