import type { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { normalPattern } from '../src/declare/cel/pattern.ts'
import { dialect as postgres } from '../src/store/postgres/dialect.ts'
import { type Sql, sql } from '../src/store/sql.ts'
import { dialect as sqlite } from '../src/store/sqlite/dialect.ts'
import { beginMatching } from '../src/store/sqlite/matches.ts'
import { openDatabase } from '../src/store/sqlite/open.ts'
import { onStoreByHand, type TestDatabase } from './harness.ts'
import { newPostgresDatabase } from './postgres.ts'
import { runs } from './runs.ts'

const RUNS = runs(4000)

/** Characters that engines treat differently, or might. */
const alphabet = [...'abkAKsSσΣςẞéÉ.-]^[\\|$(){}*+?,_0 \n\t\v\réßİ\u212aſ\ud7ff\ue000😀\u{10ffff}&~#"\'/']
const character = fc.constantFrom(...alphabet)
const aText = fc.string({ unit: character, maxLength: 6 })

const escaped = character.map((one) => (/[\\.[\](){}*+?|^$-]/.test(one) ? `\\${one}` : one))
const shorthand = fc.constantFrom(
  ...String.raw`\d \D \w \W \s \S \pL \PL \p{Lu} \P{Ll} \p{Greek} \p{^Latin}`.split(' '),
)
const named = fc.constantFrom(
  ...'alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit'
    .split(' ')
    .flatMap((name) => [`[:${name}:]`, `[:^${name}:]`]),
)
const byNumber = fc.constantFrom(...String.raw`\t \n \r \f \v \x41 \x{212A} \x{1F600} \- \\`.split(' '))
// A range in the wrong order is refused, so the test skips it.
const range = fc.tuple(escaped, escaped).map((ends) => ends.join('-'))
const member = fc.oneof(escaped, character, range, shorthand, byNumber, named)
const aClass = fc
  .tuple(
    fc.constantFrom('', '^', '^]', ']', '-', '^-'),
    fc.array(member, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('', '-'),
  )
  .map(([start, members, end]) => `[${start}${members.join('')}${end}]`)
const quantifier = fc.constantFrom('', '', '', ...'* + ? *? +? ?? {2} {0} {1,} {0,2} {1,3}? {2,}'.split(' '))

const grammar = fc.letrec<{
  choice: string
  sequence: string
  repeated: string
  atom: string
  group: string
}>((tie) => ({
  choice: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map((branches) => branches.join('|')),
  sequence: fc.array(tie('repeated'), { maxLength: 3 }).map((parts) => parts.join('')),
  repeated: fc.tuple(tie('atom'), quantifier).map((parts) => parts.join('')),
  atom: fc.oneof(
    { depthSize: 'small' },
    { weight: 6, arbitrary: escaped },
    { weight: 1, arbitrary: character },
    { weight: 1, arbitrary: fc.constantFrom('.', '^', '$', '()', '\\A', '\\z', '\\Qa.\\E', '{', '{,2}') },
    { weight: 1, arbitrary: fc.oneof(shorthand, byNumber) },
    { weight: 2, arbitrary: aClass },
    { weight: 4, arbitrary: tie('group') },
  ),
  group: fc
    .tuple(fc.constantFrom('(', '(?:', '(?i:', '(?s:', '(?-i:', '(?i-s:', '(?is)('), tie('choice'))
    .map(([open, inner]) => `${open}${inner})`),
}))
const aPattern = fc
  .tuple(fc.constantFrom('', '', '(?i)', '(?s)', '(?P<n>a|)', '(?si)'), grammar.choice, fc.boolean())
  // Most patterns without anchors match somewhere.
  .map(([flag, inner, anchored]) => flag + (anchored ? `^(${inner})$` : inner))

interface Case {
  readonly original: string
  readonly normal: string
  readonly text: string
}

const asText = ({ parts }: Sql) => parts.join('')
const text = sql`t."text"`
const pattern = sql`t."pattern"`

const folder = mkdtempSync(join(tmpdir(), 'takeback-test-'))
let file: Database
let server: TestDatabase

type MatchCase = Pick<Case, 'normal'> & { readonly text: string | null }

async function byPostgres(asked: readonly MatchCase[], collation = 'default'): Promise<unknown[]> {
  const rows = await server.query(
    `SELECT ${asText(postgres.matches(text, pattern))} AS found
      FROM (SELECT c.at, c.value ->> 'normal' AS "pattern", (c.value ->> 'text') COLLATE "${collation}" AS "text"
        FROM jsonb_array_elements($1::text::jsonb) WITH ORDINALITY c(value, at)) t ORDER BY t.at`,
    JSON.stringify(asked),
  )
  return rows.map(({ found }) => found)
}

function bySqlite(asked: readonly MatchCase[]): unknown[] {
  beginMatching()
  return file
    .query<{ found: unknown }, string>(
      `SELECT ${asText(sqlite.matches(text, pattern))} AS found
        FROM (SELECT c.key, c.value ->> 'normal' AS "pattern", c.value ->> 'text' AS "text" FROM json_each(?) c) t
        ORDER BY t.key`,
    )
    .all(JSON.stringify(asked))
    .map(({ found }) => found)
}

async function expectAgreement(asked: readonly Case[]): Promise<void> {
  const [one, other] = [await byPostgres(asked), bySqlite(asked)]
  const wrong = asked.flatMap((each, at) => {
    const meant = Number(RE2JS.compile(each.original).matcher(each.text).find())
    return one[at] === meant && other[at] === meant
      ? []
      : [{ ...each, meant, postgres: one[at], sqlite: other[at] }]
  })
  expect(wrong.slice(0, 10)).toEqual([])
}

function normal(original: string): string {
  const made = normalPattern(original)
  if ('problem' in made) throw new Error(made.problem)
  return made.pattern
}

onStoreByHand('postgres', 'patterns, as every engine reads them,', () => {
  beforeAll(async () => {
    file = openDatabase(join(folder, 'test.db'))
    server = await newPostgresDatabase()
  })
  afterAll(async () => {
    file.close()
    rmSync(folder, { recursive: true, force: true })
    await server.remove()
  })

  test('patterns mean the same to everyone', async () => {
    const asked = fc
      .sample(fc.tuple(aPattern, fc.array(aText, { minLength: 6, maxLength: 6 })), RUNS)
      .flatMap(([original, texts]) => {
        const made = normalPattern(original)
        return 'problem' in made ? [] : texts.map((one) => ({ original, normal: made.pattern, text: one }))
      })
    expect(asked.length).toBeGreaterThan(RUNS)
    await expectAgreement(asked)
  })

  test('every ASCII character is in the same classes', async () => {
    const originals = [
      '\\d',
      '\\D',
      '\\w',
      '\\W',
      '\\s',
      '\\S',
      '.',
      '[^a]',
      '[!-/]',
      '(?i)k',
      '(?i)[^k-s]',
      '[\\d\\D]',
    ]
    const texts = Array.from({ length: 127 }, (_, at) => String.fromCharCode(at + 1))
    await expectAgreement(
      originals.flatMap((original) =>
        texts.map((one) => ({ original, normal: normal(original), text: one })),
      ),
    )
  })

  test('the heaviest patterns mean the same on the longest texts', async () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    const originals = [
      '(a|b)*a(a|b){30}$',
      'a[ab]{100}[!?]',
      '(a[ab]{1,10}){1,5}[!?]',
      '.{0,25}a.{0,25}b$',
      `(${[...letters].join('*')}*){1,2}$`,
      `(.?){15}${letters}`,
      '(^|$|.*)'.repeat(4),
    ]
    const texts = ['a'.repeat(10_000), 'ab'.repeat(5000), `${'aab'.repeat(3333)}!`, letters.repeat(384)]
    await expectAgreement(
      originals.flatMap((original) =>
        texts.map((one) => ({ original, normal: normal(original), text: one })),
      ),
    )
  })

  test('nothing is said of what is not there, nor of what is too long', async () => {
    const asked = [
      null,
      '',
      'a'.repeat(10_000),
      'a'.repeat(10_001),
      '😀'.repeat(10_000),
      '😀'.repeat(10_001),
    ].map((one) => ({ normal: 'a$', text: one }))
    const said = [null, 0, 1, null, 0, null]
    expect(await byPostgres(asked)).toEqual(said)
    expect(bySqlite(asked)).toEqual(said)
  })

  test('no collation changes what a pattern means', async () => {
    await server.query(
      `CREATE COLLATION "loose" (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`,
    )
    const asked = ['ä', 'A', 'a'].map((one) => ({ normal: '^[a-z]$', text: one }))
    expect(await byPostgres(asked, 'loose')).toEqual([0, 0, 1])
  })
})
