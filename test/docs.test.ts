import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import example from '../examples/bookings/takeback.config.ts'
import pkg from '../package.json'
import { openApp } from '../src/app.ts'
import { budget } from '../src/budget.ts'
import { loadCommands } from '../src/cli/commands.ts'
import { tryCases } from '../src/cli/rule-cases.ts'
import { readConfig } from '../src/config.ts'
import { resolve } from '../src/declare/resolve.ts'
import * as takeback from '../src/takeback.ts'
import { pages, readPage } from './markdown.ts'

const { app, choice, datetime, entity, ref, text } = takeback

/** Entity types that the examples in the docs assume. */
const around = {
  admins: entity({ login: { userType: 'admin' }, fields: {} }),
  users: entity({ login: { userType: 'user' }, fields: {} }),
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  companies: entity({ fields: { name: text() } }),
  rooms: entity({ fields: { title: text() } }),
}

/** Fields for an example that only declares `access`. */
const fields = {
  owner: ref('users'),
  author: ref('users', { optional: true }),
  status: choice(['open', 'paid']),
  published_at: datetime(),
}

const blocksIn = (file: string) => {
  const source = readFileSync(join(import.meta.dir, '..', file), 'utf8')
  return [...source.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
}

/** Completes an example to a whole declaration. */
function declarationOf(block: string): unknown {
  const whole = block.match(/export default ([\s\S]*)$/)
  const consts = block.match(/^const .*$/gm)?.join('\n') ?? ''
  const isRule = block.trimStart().startsWith('access:')
  const source =
    whole?.[1] ??
    (isRule
      ? `app({ admins: 'admins', entities: { ...around, notes: entity({ fields, ${block} }) } })`
      : `app({ admins: 'admins', entities: { ...around, ${block} } })`)
  const names = { ...takeback, around, fields, app, entity }
  return new Function(...Object.keys(names), `${consts}\nreturn (${source})`)(...Object.values(names))
}

/** Commands and flags in the text, such as `takeback undo --actor users/3`. */
const inline = pages.flatMap((page) => {
  const text = readPage(page).replace(/^```[\s\S]*?^```$/gm, '')
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => ({
    page,
    code: code.replaceAll('\\|', '|'),
  }))
})

/** Flags of other programs, and of `npm run bench`. */
const FOREIGN = [
  '--data-urlencode',
  '--timeout',
  '--prefix',
  '--save-dev',
  '--omit',
  '--store',
  '--only',
  '--help',
  '--version',
]

describe('commands in the text of the docs', async () => {
  const commands = await loadCommands()

  test('name commands that there are, with flags that they take', () => {
    const spoken = inline.filter(({ code }) => /^(npx )?takeback [a-z]/.test(code))
    expect(spoken.length).toBeGreaterThan(20)
    const wrong = spoken.filter(({ code }) => {
      const words = code.replace(/^(npx )?takeback /, '')
      const command = commands.find(({ name }) => words === name || words.startsWith(`${name} `))
      const flags = words.match(/--[a-z-]+/g) ?? []
      return !command || flags.some((flag) => !Object.hasOwn(command.options, flag.slice(2)))
    })
    expect(wrong).toEqual([])
  })

  test('name flags that some command takes, and scripts of package.json', () => {
    const known = new Set(commands.flatMap(({ options }) => Object.keys(options).map((name) => `--${name}`)))
    const flags = inline.flatMap(({ page, code }) =>
      (code.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []).map((flag) => ({ page, flag })),
    )
    expect(flags.filter(({ flag }) => !known.has(flag) && !FOREIGN.includes(flag))).toEqual([])
    const scripts = inline.flatMap(({ page, code }) => {
      const [, name] = /^npm (?:run )?(\w+)/.exec(code) ?? []
      return name === undefined || ['install', 'pack', 'ci'].includes(name) ? [] : [{ page, name }]
    })
    expect(scripts.filter(({ name }) => !Object.hasOwn(pkg.scripts, name))).toEqual([])
  })
})

const CASES = 'export default cases(config, '

describe('the examples of the docs', () => {
  test('have cases of rules, and they hold for the example', async () => {
    const [block = ''] = blocksIn('docs/rules.md').filter((one) => one.includes(CASES))
    const source = block.slice(block.indexOf(CASES) + CASES.length).replace(/\)\s*$/, '')
    const { context, close } = await openApp(
      readConfig({ database: 'sqlite::memory:' }, {}),
      resolve(example),
    )
    expect(await tryCases(context, new Function(`return (${source})`)())).toEqual({ count: 9, failed: [] })
    await close()
  })

  for (const file of ['README.md', 'docs/rules.md', 'docs/queries.md'])
    for (const [at, block] of blocksIn(file)
      .filter((block) => !block.includes('…,') && !block.includes(CASES))
      .entries())
      test(`${file}, ${at + 1}: ${block.trim().split('\n')[0]}`, () => {
        const model = resolve(declarationOf(block.replaceAll('…', '')))
        expect(model.entities.size).toBeGreaterThan(3)
      })

  test('say what a mistake in a rule looks like', () => {
    const source = readFileSync(join(import.meta.dir, '..', 'docs/rules.md'), 'utf8')
    const [, said = ''] = source.match(/```\n(entities\.bookings\.access\.create: [^\n]*)\n```/) ?? []
    const bookings = entity({ fields: { owner: ref('users') }, access: { create: 'ownr.id == me.id' } })
    expect(() => resolve(app({ admins: 'admins', entities: { ...around, bookings } }))).toThrow(said)
    expect(said).not.toBe('')
  })
})

test('docs/limits.md has every limit of the budget with its default, in its order, and no other', () => {
  const text = readFileSync(join(import.meta.dir, '..', 'docs', 'limits.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \| [^|]+ \| [^|]+ \|$/gm)].map(([, name, value]) => [
    name,
    Number(value),
  ])
  expect(rows).toEqual(Object.entries(budget))
})
