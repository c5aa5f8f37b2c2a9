import { afterAll, expect } from 'bun:test'
import type { FieldDeclaration } from '../../src/declare/define.ts'
import { resolve } from '../../src/declare/resolve.ts'
import { entity, everyone, integer, json, list, object, ref, signedIn, text } from '../../src/takeback.ts'
import { forUsers, withAdmins } from '../declarations.ts'
import { giant, onEveryStoreByHand, sample, TestServer } from '../harness.ts'
import { type Case, Flow, recorded, type Values } from '../names-flow.ts'

/** Names that have a meaning in a database or in JavaScript, but are in none of our statements. */
const ELSEWHERE =
  'rowid oid key atom parent fullkey path json root rank value toString valueOf hasOwnProperty then length name type kind at data entity entity_id operation actor actor_id seq column target source place total n j t v h c d e k l m r x y new old excluded user order group select from where first last all known nth before stays state me now next true in null'.split(
    ' ',
  )

const users = entity({
  login: { userType: 'user' },
  fields: {},
  access: { create: everyone, read: signedIn },
})

type Fields = Record<string, FieldDeclaration>

/** Whether a declaration is accepted. */
function isTaken(entities: Record<string, unknown>): boolean {
  try {
    resolve(withAdmins({ users, ...entities } as never))
    return true
  } catch {
    return false
  }
}

/** If a rule may use the name, returns a rule that reads the field itself. */
function guarded(name: string, nested: string): object {
  const rule = { read: `${nested}${name} != "hidden"` }
  const field = { f: text({ optional: true }), [name]: text({ optional: true, ...rule }) }
  const fields = nested === '' ? field : { o: object(field) }
  return isTaken({ a: entity({ fields: fields as Fields }) }) ? rule : {}
}

/** Columns per type: with all names in one type, PostgreSQL would take seconds to plan a statement. */
const COLUMNS = 25

/** Types with a field for each name, in all ways in which a name can become a column. */
function kindsOf(names: readonly string[]): Record<string, Fields> {
  const each = (make: (name: string, at: number) => FieldDeclaration): Fields =>
    Object.fromEntries(names.map((name, at) => [name, make(name, at)]))
  return {
    texts_: each((name, at) =>
      text({ optional: true, ...(at < 8 ? { search: true } : guarded(name, '')) } as never),
    ),
    numbers_: each(() => integer({ default: 0 })),
    documents_: each(() => json({ optional: true })),
    objects_: {
      o: object(
        each((name) => text({ optional: true, ...guarded(name, 'o.') } as never)),
        { optional: true },
      ),
    },
    references_: each(() => ref('targets_', { optional: true, onDelete: 'clear' })),
    lists_: each(() => list(ref('targets_', { onDelete: 'clear' }), { default: [] })),
  }
}

/** Declares each name as a column of every kind, and as a type. */
function declare(names: readonly string[]) {
  const columns = names.filter((name) => isTaken({ things: entity({ fields: { [name]: text() } }) }))
  const types = names.filter(
    (name) => isTaken({ [name]: entity({ fields: {} }) }) && !/_\d*$|^admins$|^users$/.test(name),
  )
  const groups = Array.from({ length: Math.ceil(columns.length / COLUMNS) }, (_, at) =>
    columns.slice(at * COLUMNS, (at + 1) * COLUMNS),
  )
  return {
    types,
    groups,
    declaration: withAdmins({
      users,
      targets_: entity({ fields: {}, access: forUsers }),
      ...Object.fromEntries(
        groups.flatMap((group, at) =>
          Object.entries(kindsOf(group)).map(([kind, fields]) => [
            kind + at,
            entity({ fields, access: forUsers }),
          ]),
        ),
      ),
      ...Object.fromEntries(
        types.map((name) => [
          name,
          entity({
            fields: {
              words: text({ search: true, unique: true }),
              up: ref(name, { optional: true, onDelete: 'cascade' }),
              all: list(ref(name, { onDelete: 'clear' }), { default: [] }),
            },
            access: forUsers,
          }),
        ]),
      ),
    } as never),
  }
}

/** Returns every name and alias in these SQL texts, quoted or not, without text constants. */
function namesIn(texts: Iterable<string>): string[] {
  const names = new Set<string>()
  for (const one of texts)
    for (const [, name] of one.replaceAll(/'(?:[^']|'')*'/g, "''").matchAll(/\b([a-z][a-z0-9_]*)\b/g))
      if (name !== undefined) names.add(name)
  return [...names]
}

/** Combines a few names at a time: one request for each would take minutes. */
function some(names: readonly string[], say: (name: string) => string, between: string): string[] {
  const said: string[] = []
  for (let at = 0; at < names.length; at += 8)
    said.push(
      names
        .slice(at, at + 8)
        .map(say)
        .join(between),
    )
  return said
}

/** Whether an expression can use a field with this name. */
function isSayable(name: string): boolean {
  const fields = { [name]: integer({ default: 0 }) }
  return isTaken({ a: entity({ fields, access: { read: `${name} == 1` } }) })
}

/** Cases for the types that have these names as columns; `at` is part of the names of these types. */
function casesOf(names: readonly string[], at: number): Case[] {
  const all = (value: (at: number) => unknown): Values =>
    Object.fromEntries(names.map((name, at) => [name, value(at)]))
  const spoken = names.filter(isSayable)
  return [
    {
      type: `texts_${at}`,
      first: all((at) => `first ${at}`),
      second: all((at) => `second ${at}`),
      filters: some(spoken, (name) => `${name} == "first ${names.indexOf(name)}" && ${name} != "x"`, ' && '),
      sorts: some(names, (name) => name, ',-'),
      words: 'first',
    },
    {
      type: `numbers_${at}`,
      first: all((at) => at + 1),
      second: all((at) => -at - 1),
      filters: some(spoken, (name) => `${name} == ${names.indexOf(name) + 1}`, ' && '),
      sorts: some(names, (name) => name, ',-'),
      figures: some(names, (name) => name, ','),
    },
    {
      type: `documents_${at}`,
      first: all((at) => ({ kind: at, id: 1 })),
      second: all((at) => [at, { id: 2 }]),
      filters: [],
      sorts: [],
    },
    {
      type: `objects_${at}`,
      first: { o: all((at) => `first ${at}`) },
      second: { o: all((at) => `second ${at}`) },
      filters: some(spoken, (name) => `o.${name} == "first ${names.indexOf(name)}"`, ' && '),
      sorts: some(names, (name) => `o.${name}`, ',-'),
    },
    {
      type: `references_${at}`,
      first: all(() => ({ id: 1 })),
      second: all((at) => (at % 2 === 0 ? null : { id: 2 })),
      filters: some(spoken, (name) => `${name}.id == 1 && ${name}.version == 1`, ' && '),
      sorts: some(names, (name) => `${name}.id`, ',-'),
      expands: some(names, (name) => name, ','),
    },
    {
      type: `lists_${at}`,
      first: all(() => [{ id: 1 }, { id: 2 }]),
      second: all((at) => (at % 2 === 0 ? [] : [{ id: 2 }, { id: 1 }])),
      filters: some(spoken, (name) => `${name}.exists(one, one.id == 1)`, ' && '),
      sorts: [],
      expands: some(names, (name) => name, ','),
    },
  ]
}

/** The case for a type that has one of the names itself. */
function caseOf(type: string): Case {
  const first = { words: 'first one', up: null, all: [] }
  const filter = 'words.startsWith("first") && !all.exists(one, one.up.id == 7)'
  const second = { ...first, words: 'second one' }
  return { type, first, second, filters: [filter], sorts: ['words'], words: 'first', figures: [] }
}

onEveryStoreByHand('names', (store) => {
  const servers: TestServer[] = []
  afterAll(() => Promise.all(servers.map((server) => server.remove())))

  async function runAll(names: readonly string[]): Promise<Set<string>> {
    const { declaration, types, groups } = declare(names)
    const server = new TestServer(store, declaration, { 'statement-timeout': '60' })
    servers.push(server)
    await server.start()
    const { token } = await server.user('users', { email: 'u@example.com' })
    const texts = recorded(server)
    // Both stay at their first version: others refer to them.
    for (const _ of [1, 2]) await server.expect(201, 'POST', '/api/targets_/', {}, { token })
    const left = [
      ...groups.flatMap(casesOf).map((one) => () => new Flow(server, token, one).run()),
      ...types.map((type) => () => new Flow(server, token, caseOf(type)).runOnce()),
    ].values()
    const work = async () => {
      for (const run of left) await run()
    }
    await Promise.all(Array.from({ length: 6 }, work))
    await clearAndUndo(server, token, groups.length)
    return texts
  }

  /** A deletion clears the references to it; its restore and its undo set them again. */
  async function clearAndUndo(server: TestServer, token: string, groups: number): Promise<void> {
    const kinds = Array.from({ length: groups }, (_, at) => [`references_${at}`, `lists_${at}`]).flat()
    const state = async () =>
      Promise.all(
        kinds.map(async (type) => {
          const { data } = await server.expect(200, 'GET', `/api/${type}/?sort=id`, undefined, { token })
          return data.map(({ version: _, updated_at: __, ...rest }: Values) => rest)
        }),
      )
    const before = await state()
    const remove = (query = '') => server.call('DELETE', `/api/targets_/1/${query}`, { token })
    await remove()
    expect(JSON.stringify(await state())).not.toContain('"id":1}')
    await remove('?restore=1')
    expect(await state()).toEqual(before)
    const deleted = await remove()
    const operation = deleted.headers.get('Takeback-Operation')
    await server.expect(200, 'POST', `/api/operations/${operation}/undo/`, undefined, { token })
    expect(await state()).toEqual(before)
  }

  giant(
    'of ours are met by none that is declared',
    async () => {
      const plain = await runAll(['f1', 'f2'])
      const names = namesIn(plain)
      expect(names).toEqual(expect.arrayContaining(['takeback_journal', 'entity_id', 'deleted_at']))
      const all = [...new Set([...names, ...ELSEWHERE])].sort()
      const some = store === 'sqlite' ? sample(all, 9) : sample(all, 18, 1)
      // Statements about versions in the journal have a column `number` beside those of a type.
      await runAll([...new Set([...some, 'number'])])
    },
    600_000,
  )
})
