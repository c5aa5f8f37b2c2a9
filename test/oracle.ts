import { type Field, walk } from '../src/declare/model.ts'
import type { View } from '../src/plan/view/view.ts'
import type { Actor } from '../src/plan/viewer/actor.ts'
import {
  boolean,
  choice,
  date,
  datetime,
  decimal,
  email,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  secret,
  signedIn,
  text,
  url,
} from '../src/takeback.ts'
import { withAdmins } from './declarations.ts'
import type { TestResponse, TestServer } from './harness.ts'

/*
 * A field that the caller may not read is treated as if it did not exist: any question about it gets the same answer,
 * byte for byte, as for a name that nobody has declared. Only the declaration is chosen by hand: the hidden paths come
 * from the Model, and each of them is tried in every kind of request.
 */

const staff = 'me.type == "staff"'
const hidden = { read: staff, write: staff } as const
const own = { read: 'owner.id == me.id' } as const
const some = { optional: true } as const

const all = {
  create: signedIn,
  read: everyone,
  update: signedIn,
  delete: signedIn,
  restore: signedIn,
  purge: signedIn,
  history: signedIn,
} as const

export const oracle = withAdmins({
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  users: entity({
    login: { userType: 'user' },
    fields: {
      name: text(some),
      zq_rank: integer({ ...some, ...hidden }),
      zq_boss: ref('users', { ...some, ...hidden, as: 'zq_team' }),
      own_phone: text({ ...some, read: 'id == me.id' }),
    },
    access: { read: everyone, update: 'id == me.id' },
  }),
  vaults: entity({
    fields: {
      zq_code: text({ unique: true }),
      zq_thing: ref('things', { ...some, as: 'zq_safes', onDelete: 'clear' }),
    },
    access: { read: staff, create: staff },
  }),
  targets: entity({
    fields: { name: text(), vault: ref('vaults', { ...some, as: 'zq_aims' }) },
    access: all,
  }),
  things: entity({
    fields: {
      title: text({ search: true, fold: true }),
      amount: integer(some),
      tags: list(text(), { default: [] }),
      lines: list(object({ price: integer() }), { default: [] }),
      place: object({ city: text(some), zq_zip: text({ ...some, ...hidden }) }, some),
      owner: ref('users', { ...some, as: 'owned' }),
      target: ref('targets', { ...some, as: 'things', onDelete: 'clear' }),
      vault: ref('vaults', some),
      vaults: list(ref('vaults'), { default: [] }),
      zq_text: text({ ...some, ...hidden, search: true, unique: true, fold: true }),
      zq_email: email({ ...some, ...hidden }),
      zq_url: url({ ...some, ...hidden }),
      zq_choice: choice(['CANARYc1', 'CANARYc2'], { ...some, ...hidden }),
      zq_integer: integer({ ...some, ...hidden }),
      zq_number: number({ ...some, ...hidden }),
      zq_decimal: decimal({ ...some, ...hidden, scale: 2 }),
      zq_boolean: boolean({ ...some, ...hidden }),
      zq_date: date({ ...some, ...hidden }),
      zq_datetime: datetime({ ...some, ...hidden }),
      zq_json: json({ ...some, ...hidden }),
      zq_secret: secret({ ...some, ...hidden }),
      zq_list: list(text(), { default: [], ...hidden }),
      zq_lines: list(object({ price: integer() }), { default: [], ...hidden }),
      zq_links: list(ref('targets', { as: 'zq_linked', onDelete: 'clear' }), { default: [], ...hidden }),
      zq_entries: list(object({ to: ref('targets', { as: 'zq_entered' }), n: integer() }), {
        default: [],
        ...hidden,
      }),
      zq_ref: ref('targets', { ...some, ...hidden, as: 'zq_referred', onDelete: 'clear' }),
      zq_object: object(
        { inner: text(some), deep: object({ number: integer(some) }, some), to: ref('targets', some) },
        { ...some, ...hidden },
      ),
      zq_always: object({ inner: integer({ default: 0 }) }, { read: staff }),
      zq_shell: object({ only: text({ ...some, ...hidden }) }, some),
      own_text: text({ ...some, ...own, search: true, sort: 'fold' }),
      own_choice: choice(['CANARYo1', 'CANARYo2'], { ...some, ...own }),
      own_integer: integer({ default: 0, ...own }),
      own_number: number({ ...some, ...own }),
      own_decimal: decimal({ ...some, ...own, scale: 2 }),
      own_boolean: boolean({ ...some, ...own }),
      own_date: date({ ...some, ...own }),
      own_datetime: datetime({ ...some, ...own }),
      own_json: json({ ...some, ...own }),
      own_list: list(text(), { default: [], ...own }),
      own_lines: list(object({ price: integer() }), { default: [], ...own }),
      own_links: list(ref('targets', { as: 'own_linked', onDelete: 'clear' }), { default: [], ...own }),
      own_entries: list(object({ to: ref('targets', { as: 'own_entered' }), n: integer() }), {
        default: [],
        ...own,
      }),
      own_ref: ref('targets', { ...some, ...own, as: 'own_referred', onDelete: 'clear' }),
      own_object: object({ inner: text(some), number: integer(some) }, { ...some, ...own }),
    },
    computed: {
      zq_made: 'amount + zq_integer',
      zq_far: 'vault.zq_code + "!"',
      own_made: 'own_integer + 0',
      own_words: 'own_text + own_ref.name',
    },
    unique: [['title', 'zq_integer']],
    access: all,
  }),
})

/** Hidden values. None of them may appear in an answer. */
const canaries = {
  zq_text: 'CANARYtext',
  zq_email: 'canarye@example.com',
  zq_url: 'https://example.com/CANARYurl',
  zq_choice: 'CANARYc1',
  zq_integer: 910_001,
  zq_number: 910_002.5,
  zq_decimal: '910003.25',
  zq_boolean: true,
  zq_date: '2091-01-01',
  zq_datetime: '2091-01-02T00:00:00.000Z',
  zq_json: { a: 'CANARYjson', b: [910_004] },
  zq_secret: 'CANARYsecret',
  zq_list: ['CANARYlist'],
  zq_lines: [{ price: 910_005 }],
  zq_entries: [{ to: { id: 2 }, n: 910_008 }],
  zq_object: { inner: 'CANARYinner', deep: { number: 910_006 }, to: { id: 2 } },
  zq_always: { inner: 910_007 },
  zq_shell: { only: 'CANARYshell' },
}
export const ownCanaries = {
  own_text: 'CANARYown',
  own_choice: 'CANARYo1',
  own_integer: 910_011,
  own_number: 910_012.5,
  own_decimal: '910013.25',
  own_boolean: true,
  own_date: '2091-01-11',
  own_datetime: '2091-01-12T00:00:00.000Z',
  own_json: { a: 'CANARYownjson' },
  own_list: ['CANARYownlist'],
  own_lines: [{ price: 910_014 }],
  own_entries: [{ to: { id: 2 }, n: 910_016 }],
  own_object: { inner: 'CANARYowninner', number: 910_015 },
}

/** Two of ann's Entities that differ only in hidden values, and one of eve's. */
export function thingsOf(ann: number, eve: number): object[] {
  const to = { zq_ref: { id: 2 }, zq_links: [{ id: 2 }], own_ref: { id: 2 }, own_links: [{ id: 2 }] }
  const shown = { vault: { id: 1 }, vaults: [{ id: 1 }], target: { id: 1 }, tags: ['a'] }
  const hers = { title: 'hers', amount: 1, owner: { id: ann } }
  const place = { city: 'Bern', zq_zip: 'CANARYzip' }
  const mine = { title: 'mine', zq_always: {}, amount: 3, owner: { id: eve } }
  return [
    { ...hers, place, ...shown, ...to, ...canaries, ...ownCanaries },
    { ...hers, zq_always: {}, tags: ['a'] },
    { ...mine, own_text: 'seen', own_integer: 7, place: { zq_zip: 'CANARYzip' } },
  ]
}
export const CANARY = /canary|9100\d\d|2091-/i

/** Conditions about a path of any type. */
export const conditions: readonly ((path: string) => string)[] = [
  (p) => p,
  (p) => `!${p}`,
  (p) => `has(${p})`,
  ...['==', '!=', '<', '<=', '>', '>='].flatMap((how) => [
    ...['null', '"CANARYtext"', '910001', '2.5', 'true', 'now', 'timestamp("2091-01-02T00:00:00Z")'].map(
      (value) => (p: string) => `${p} ${how} ${value}`,
    ),
    (p: string) => `title ${how} ${p}`,
    (p: string) => `${p} ${how} amount`,
    (p: string) => `${p}.id ${how} 3`,
    (p: string) => `me.${p} ${how} 3`,
    (p: string) => `size(${p}) ${how} 1`,
    (p: string) => `now - ${p} ${how} duration("1h")`,
    (p: string) => `${p} + duration("1h") ${how} now`,
  ]),
  (p) => `${p} in ["a", "b"]`,
  (p) => `${p} in [1, 2]`,
  (p) => `"a" in ${p}`,
  (p) => `3 in ${p}`,
  (p) => `amount in [1, ${p}]`,
  (p) => `${p}.size() > 0`,
  ...['startsWith', 'endsWith', 'contains', 'matches'].flatMap((name) => [
    (p: string) => `${p}.${name}("CANARY")`,
    (p: string) => `title.${name}(${p})`,
  ]),
  (p) => `matches(${p}, "C")`,
  (p) => `${p}.lowerAscii() == "canarytext"`,
  (p) => `${p} / 2 > 0`,
  (p) => `lines.exists(i, i.price % ${p} > 0)`,
  (p) => `title + ${p} == "hersCANARYtext"`,
  (p) => `round(-${p}, 2) == -910001`,
  (p) => `min(amount, abs(${p})) == 1`,
  (p) => `fold(${p}) == "canarytext"`,
  (p) => `fold(title).contains(fold(${p}))`,
  (p) => `${p}.date("Europe/Zurich") == "2091-01-01"`,
  (p) => `${p}.exists(i, i == "a")`,
  (p) => `${p}.exists(i, i.price > 3)`,
  (p) => `${p}.all(i, i.id == 3)`,
  (p) => `${p}.exists(i, i.to.id == 2 && i.n == 3)`,
  (p) => `tags.exists(i, i == ${p})`,
  (p) => `lines.exists(i, i.${p} == 3)`,
  (p) => `${p} ? true : false`,
  (p) => `amount == 1 ? ${p} == 3 : false`,
  (p) => `true || ${p} == 3`,
  (p) => `false && ${p} == 3`,
  (p) => `${p}.unheard == 3`,
  (p) => `${p}.unheard()`,
]

/** Conditions that hold for existing data. */
export const yields: readonly ((path: string) => string)[] = [
  (p) => `${p} == "CANARYown"`,
  (p) => `${p} == "910013.25"`,
  (p) => `${p} == "2091-01-11"`,
  (p) => `${p} == 910011`,
  (p) => `!(${p} == 910012)`,
  (p) => `!(${p} == "x")`,
  (p) => `"CANARYownlist" in ${p}`,
  (p) => `2 in ${p}`,
  (p) => `!(1 in ${p})`,
  (p) => `${p}.exists(i, i.price == 910014)`,
  (p) => `${p}.exists(i, i.name == "two")`,
  (p) => `${p}.exists(i, i.to.id == 2 && i.n == 910016)`,
  (p) => `${p}.exists(i, i.to.name == "two")`,
  (p) => `!${p}.exists(i, i.to.id == 1)`,
  (p) => `${p}.all(i, i.name == "two")`,
  (p) => `!${p}.exists(i, i.name == "one")`,
  (p) => `${p}.name == "two"`,
  (p) => `${p} in ["CANARYown", "two", "CANARYo1"]`,
  (p) => `${p}.startsWith("CANARY") || ${p}.startsWith("t")`,
  (p) => `max(${p} % 1000, 1) > 10`,
  (p) => `fold(${p}).contains("OWN")`,
  (p) => `${p}.year() == 2091`,
  (p) => `(${p} == null ? 1 : 2) == 2`,
  (p) => `(has(${p}) ? title : "x") == title`,
]

export const parameters: readonly ((path: string) => Record<string, string>)[] = [
  ...['', 'null', 'true', '3', '2.5', 'CANARYtext', '2091-01-01'].map((value) => (p: string) => ({
    [p]: value,
  })),
  (p) => ({ [`${p}.id`]: '3' }),
  (p) => ({ sort: p }),
  (p) => ({ sort: `-${p}` }),
  (p) => ({ sort: `title,${p}` }),
  (p) => ({ sort: `fold(${p})` }),
  (p) => ({ sort: `${p}.id` }),
  (p) => ({ sort: p, cursor: 'dGhpbmdz' }),
  (p) => ({ sort: p, trashed: 'with', count: '1' }),
  (p) => ({ fields: p }),
  (p) => ({ fields: `id,${p}` }),
  (p) => ({ fields: `${p}.id` }),
  (p) => ({ expand: p }),
  (p) => ({ expand: `target,${p}` }),
  (p) => ({ expand: `target.${p}` }),
  (p) => ({ expand: `${p}.vault` }),
  (p) => ({ expand: `${p}.to` }),
  ...['filter=X == 3', 'filter=has(X)', 'sort=-X', 'fields=X', 'expand=X'].flatMap((option) =>
    ['target.things', 'owner.owned', 'things', 'owned', 'things.owner.owned'].map((to) => (p: string) => ({
      expand: `${to}(${option.replace('X', p)})`,
    })),
  ),
  (p) => ({ expand: `target(fields=${p}),owner(expand=${p})` }),
  (p) => ({ expand: `things.target(fields=${p})` }),
  (p) => ({ expand: `owned.owner(fields=${p};expand=${p})` }),
  (p) => ({ expand: `${p}(limit=1;fields=id)` }),
  (p) => ({ [p]: '3', filter: `${p} == 3`, sort: p, fields: p, expand: p, count: '1' }),
]

export const figures: readonly ((path: string) => Record<string, string>)[] = [
  ...['group', 'distinct', 'sum', 'avg', 'min', 'max'].flatMap((name) => [
    (p: string) => ({ [name]: p }),
    (p: string) => ({ [name]: `amount,${p}` }),
    (p: string) => ({ [name]: `${p}.id` }),
  ]),
  (p) => ({ group: `day(${p})` }),
  (p) => ({ group: `hour(${p},"Europe/Berlin")`, distinct: `week(${p})` }),
  (p) => ({ group: p, sort: `-${p}` }),
  (p) => ({ group: 'amount', sort: p }),
  (p) => ({ group: 'amount', sum: p, sort: `-sum(${p})`, limit: '1' }),
  (p) => ({ filter: `${p} == 3` }),
  (p) => ({ [p]: '3' }),
]

/** Returns the paths of a type that the caller does not see: fields, also behind references, and names of referrers. */
export function hiddenPaths(server: TestServer, name: string, actor: Actor): string[] {
  const { plans, model } = server.context
  const viewOf = (type: string) => plans.get(type)?.view(actor) as View
  const plan = plans.get(name)
  if (plan === undefined) throw new Error(name)
  const unseen = (type: string): string[] => {
    const { viewer } = viewOf(type)
    const entity = plans.get(type)?.type
    if (entity === undefined) return []
    const seen = new Set([...walk(viewer.seen(entity))].map(({ path }) => path))
    const reads = viewer.visibility.reaches(entity)
    const made = new Set(viewer.computed(entity).map((one) => one.name))
    return [
      ...[...walk(entity.fields)].filter(({ path }) => !reads || !seen.has(path)).map(({ path }) => path),
      ...[...entity.computed.keys()].filter((one) => !reads || !made.has(one)),
    ]
  }
  const behind = (field: Field): string[] =>
    field.kind === 'reference' ? unseen(field.target).map((path) => `${field.path}.${path}`) : []
  const away = new Set(unseen(name))
  const backs = [...model.entities.values()].flatMap((from) =>
    [...walk(from.fields)].flatMap((field) => {
      if ((field.kind !== 'reference' && field.kind !== 'links') || field.target !== name) return []
      return field.as !== undefined && unseen(from.name).includes(field.path) ? [field.as] : []
    }),
  )
  const seen = [...walk(plan.type.fields)].filter(({ path }) => !away.has(path))
  return [...away, ...seen.flatMap(behind), ...backs]
}

/** Replaces the first hidden name in a path with one that nobody has declared. */
export function unknownFor(path: string, isHidden: (path: string) => boolean): string {
  const names = path.split('.')
  const at = names.findIndex((_, place) => isHidden(names.slice(0, place + 1).join('.')))
  const name = names[at] ?? ''
  return names.with(at, name.replace('zq', 'xk').replace('own', 'xkk')).join('.')
}

/** Matches canaries that were not part of the request. */
export const CANARY_UNSENT = /CANARY(inner|json|list|shell|zip|vault|c1|own)|91000[2-9]|91001\d/

/** Returns the first name in which two paths differ, from each. */
export function firstDifference(path: string, unknown: string): [string, string] {
  const [names, others] = [path.split('.'), unknown.split('.')]
  const at = names.findIndex((name, place) => name !== others[place])
  return [names[at] ?? '', others[at] ?? '']
}

/** Returns the headers of an answer, except those that always differ. */
export function etcOf({ headers }: TestResponse): string {
  return JSON.stringify([...headers].filter(([name]) => !['date', 'request-id'].includes(name)))
}

/** Expansions that would show something of hidden fields, if anything does. */
export const expansions: readonly string[] = [
  'owner,target,target.things,target.own_referred,target.own_linked,own_ref,own_links',
  'owner.things',
  'owner.owned(sort=-own_integer;limit=2),target.things(filter=has(own_text);sort=own_text;limit=1)',
  'own_links(sort=-name;limit=1),own_ref(fields=name;expand=own_referred(sort=own_text;limit=1))',
  'own_ref.own_referred.own_links',
  'own_entries.to(fields=name),target.own_entered(sort=own_integer;limit=1)',
]

/** Returns a body with one value, at a dot path. */
export function bodyOf(path: string, value: unknown): object {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
}
