import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { newDatabase } from '../harness.ts'
import { blocksOf, commandsOf, type Typed } from '../markdown.ts'
import { startPostgres } from '../postgres.ts'
import { answersAs } from './answers.ts'
import { buildLibrary, newFolder } from './process.ts'
import { Typist } from './typist.ts'

const root = join(import.meta.dir, '..', '..')
const tools = ['bash', 'curl', 'sed', 'npm', 'mkfifo'].every((tool) => Bun.which(tool) !== null)
if (!tools) console.warn('skipped: the README needs bash, curl, sed and npm')

/** A user who has just cloned the project, and types the whole README, from top to bottom. */
class Newcomer {
  readonly folder = join(newFolder(), 'takeback')
  readonly #postgres: string
  #typist: Typist
  #url = 'http://127.0.0.1:3000'
  #password = ''

  constructor(postgres: string) {
    this.#postgres = postgres
    const left = ['node_modules', '.git', 'data']
    cpSync(root, this.folder, {
      recursive: true,
      filter: (file) => !left.some((name) => file === join(root, name)),
    })
    this.#typist = this.#sitDown()
  }

  #sitDown(): Typist {
    return new Typist(this.folder, { PORT: '0', TAKEBACK_LOG: 'json' })
  }

  async openTerminal(): Promise<void> {
    const before = this.#typist
    this.#typist = this.#sitDown()
    // The process in the other terminal keeps running.
    this.leave.push(() => before.close())
  }
  readonly leave: (() => Promise<void>)[] = []

  async type({ command, answer }: Typed): Promise<void> {
    const text = command
      .replaceAll('http://127.0.0.1:3000', this.#url)
      .replace('PASSWORD=…', `PASSWORD=${this.#password}`)
      .replaceAll('postgres://user:password@host/name', this.#postgres)
    const [, rest] = /^npm install && (.*)$/.exec(text) ?? []
    if (rest !== undefined) return this.#install(rest)
    if (/^(npm start|npx takeback serve)/.test(text)) return this.#start(text)
    // The README says to stop the server first.
    if (text.startsWith('npx takeback copy')) await this.#typist.stopServers()
    const { code, output } = await this.#typist.type(text)
    expect([text, code, output]).toEqual([text, 0, output])
    if (answer === undefined) expect(output).not.toContain('"code":"')
    else expect([output, answersAs(output, answer, new Map())]).toEqual([output, true])
  }

  /** The packages are installed already; the rest of the command is typed as it is. */
  async #install(rest: string): Promise<void> {
    const modules = join(this.folder, 'node_modules')
    if (!existsSync(modules)) symlinkSync(join(root, 'node_modules'), modules)
    // This test is part of that run.
    if (rest !== 'npm test') await this.type({ command: rest, answer: undefined })
  }

  async #start(command: string): Promise<void> {
    const first = command === 'npm start'
    const { url, said } = await this.#typist.start(command, first ? '# taken back' : undefined)
    this.#url = url
    if (!first) return
    this.#password = /password {2}(\S+)/.exec(said)?.[1] ?? ''
    const tour = said.split('\n').filter((line) => /^ {2}(API|[A-Z_]+=\$\(|curl)/.test(line))
    const pasted = new Typist(this.folder)
    for (const line of tour) expect((await pasted.type(line)).code).toBe(0)
    await pasted.close()
  }

  async ask(command: string): Promise<string> {
    return (await this.#typist.type(command)).output
  }

  async close(): Promise<void> {
    await this.#typist.close()
    for (const leave of this.leave) await leave()
  }
}

describe.skipIf(!tools)('the README, typed in from top to bottom', () => {
  let newcomer: Newcomer
  beforeAll(async () => {
    await startPostgres()
    buildLibrary()
    newcomer = new Newcomer((await newDatabase('postgres', newFolder())).url)
  })
  afterAll(() => newcomer.close())

  for (const block of blocksOf('README.md').filter(({ language }) => language === 'sh'))
    test(block.text.split('\n')[0] ?? '', async () => {
      if (/(second|new) terminal/.test(block.said)) await newcomer.openTerminal()
      // A person is not faster than that; and a time without fractions must be later than what was done before.
      else await Bun.sleep(1100)
      for (const typed of commandsOf(block)) await newcomer.type(typed)
      if (block.text.includes('takeback undo')) {
        expect(await newcomer.ask('call GET rooms/$ROOM/')).toContain('"beds":2')
        expect(await newcomer.ask('call GET bookings/$BOOKING/')).toContain('"deleted_at":null')
      }
      if (block.text.includes('takeback init'))
        expect(readdirSync(join(newcomer.folder, '..', 'shop'))).toContain('tsconfig.json')
      if (block.text.includes('npm start'))
        expect(existsSync(join(newcomer.folder, 'data', 'bookings.db'))).toBe(true)
    })
})
