import { beforeAll, expect, test } from 'bun:test'
import {
  boolean,
  choice,
  date,
  decimal,
  entity,
  everyone,
  integer,
  json,
  list,
  number,
  object,
  ref,
  text,
} from '../src/takeback.ts'
import { withAdmins } from './declarations.ts'
import { onStore } from './harness.ts'

const some = { optional: true } as const

/** A default of every kind. Each is recognisable in the documents. */
const fields = (rule: object, mark: number) => ({
  word: text({ default: `canary-${mark}`, ...rule }),
  count: integer({ default: 7_000_000 + mark, ...rule }),
  ratio: number({ default: 7_000_000.5 + mark, ...rule }),
  price: decimal({ default: `${7_000_000 + mark}.25`, ...rule }),
  day: date({ default: `21${mark}-01-02`, ...rule }),
  kind: choice(['a', `choice-${mark}`], { default: `choice-${mark}`, ...rule }),
  flag: boolean({ default: false, ...rule }),
  tags: list(text(), { default: [`tag-${mark}`], ...rule }),
  lines: list(object({ note: text({ default: `note-${mark}` }) }), { default: [], ...rule }),
  extra: json({ default: { key: `extra-${mark}` }, ...rule }),
})
const canaries = (mark: number) =>
  new RegExp(
    `canary-${mark}|${7_000_000 + mark}|21${mark}-01-02|tag-${mark}|note-${mark}|extra-${mark}|default[^,}<]*choice-${mark}`,
  )

const hidden = [
  ['only for some types', { read: 'me.type == "staff"' }, 11],
  ['only for the signed in', { read: 'me != null' }, 12],
  ['only for its owner', { read: 'id == me.id' }, 13],
] as const

/** The types whose defaults strangers must not learn, because they may read none of their Entities. */
const unread = [
  ['only created by strangers', { create: everyone, read: 'me.type == "staff"' }, 14],
  ['only created by strangers, and read by the signed in', { create: everyone, read: 'me != null' }, 15],
  ['created and read by nobody but some', { create: 'me.type == "staff"', read: 'me.type == "staff"' }, 16],
  ['only changed by strangers', { create: everyone, update: everyone, read: 'me.type == "staff"' }, 17],
  ['read by those in a list', { create: everyone, read: 'readers.exists(r, r.id == me.id)' }, 18],
  ['read by those in no list', { create: everyone, read: '!readers.all(r, r.id != me.id)' }, 19],
  ['read by some of the signed in', { create: everyone, read: '!(word == "a" || me.type != "staff")' }, 20],
  ['read by one or the other', { create: everyone, read: 'word == "a" ? id == me.id : me != null' }, 21],
] as const

const declared = withAdmins({
  staff: entity({ login: { userType: 'staff' }, fields: {} }),
  open: entity({ fields: fields({}, 10), access: { read: everyone, create: everyone } }),
  ...Object.fromEntries(
    unread.map(([, access, mark], at) => [
      `unread_${at}`,
      entity({
        fields: {
          ...fields({}, mark),
          box: object(fields({}, mark), some),
          readers: list(ref('staff'), { default: [] }),
        },
        access,
      }),
    ]),
  ),
  ...Object.fromEntries(
    hidden.flatMap(([, rule, mark], at) => [
      [`top_${at}`, entity({ fields: fields(rule, mark), access: { read: everyone, create: everyone } })],
      [
        `inside_${at}`,
        entity({
          fields: { box: object({ seen: text(some), ...fields(rule, mark) }, some) },
          access: { read: everyone, create: everyone },
        }),
      ],
      [
        `whole_${at}`,
        entity({
          fields: { box: object(fields({}, mark), { ...some, ...rule }) },
          access: { read: everyone, create: everyone },
        }),
      ],
    ]),
  ),
})

onStore('sqlite', 'defaults of what strangers never see', declared, (server) => {
  let documents: string[] = []

  beforeAll(async () => {
    documents = await Promise.all(
      ['/api/openapi.json', '/docs'].map(async (path) => {
        const { status, text: told } = await server.call('GET', path, {
          token: null,
          headers: { Accept: '*/*' },
        })
        expect(status).toBe(200)
        return told
      }),
    )
  })

  test.each<readonly [string, object, number]>([...hidden, ...unread])('%s', (_name, _rule, mark) => {
    for (const told of documents) expect(told.match(canaries(mark))?.[0]).toBeUndefined()
  })

  test('others are told', () => {
    for (const told of documents) expect(told).toMatch(canaries(10))
  })

  test('what has a default need not be sent, told or not', async () => {
    const { components } = JSON.parse(documents[0] ?? '')
    for (const at of hidden.keys()) {
      expect(components.schemas[`top_${at}_create`].required).toBeUndefined()
      await server.expect(201, 'POST', `/api/top_${at}/`, {}, { token: null })
    }
  })
})
