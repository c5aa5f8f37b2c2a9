import type { JsonSchema } from '../../declare/fields/field.ts'
import { closedObject, refTo } from '../description.ts'

const text: JsonSchema = { type: 'string' }
const textOrNull: JsonSchema = { type: ['string', 'null'] }
const flag: JsonSchema = { type: 'boolean' }
const count: JsonSchema = { type: 'integer', minimum: 0 }
const possible: JsonSchema = {
  type: ['boolean', 'string'],
  enum: [true, false, 'some'],
  description: '`some`: it depends on the Entity and its values.',
}
const texts: JsonSchema = { type: 'object', additionalProperties: text }

const field: JsonSchema = closedObject(
  {
    path: { type: 'string', description: 'The dot path. In the items of a list, it begins in the item.' },
    name: text,
    type: { type: 'string', description: 'As it is declared: `text`, `choice`, `ref`, `list`, `object` …' },
    label: textOrNull,
    description: textOrNull,
    required: { type: 'boolean', description: 'Must be sent with a create.' },
    nullable: flag,
    read_only: { type: 'boolean', description: 'The caller can never set it.' },
    may: closedObject({ read: possible, create: possible, update: possible }, ['read', 'create', 'update']),
    rules: texts,
    default: { description: 'Of a create that does not send it.' },
    provided: {
      type: 'string',
      enum: ['me', 'now', 'server'],
      description: 'What the server sets if it is not sent: the user who acts, the time, or something else.',
    },
    computed: flag,
    expression: text,
    min: { type: ['number', 'string'] },
    max: { type: ['number', 'string'] },
    pattern: text,
    choices: { type: 'array', items: text },
    scale: count,
    unique: flag,
    search: flag,
    fold: flag,
    sort: { type: 'string', const: 'fold' },
    example: {},
    sortable: { type: 'boolean', description: 'Lists can be sorted by it; by the `id`, of a reference.' },
    filterable: flag,
    to: { ...textOrNull, description: 'The type that it refers to; `null` if the caller may not know it.' },
    on_delete: { type: 'string', enum: ['restrict', 'cascade', 'clear'] },
    as: text,
    member: { type: 'string', description: 'The name of the reference in the items of a list of objects.' },
    fields: { type: 'array', items: refTo('ModelField') },
    items: refTo('ModelField'),
  },
  ['type', 'required', 'nullable'],
)

const login = {
  user_type: text,
  login_with: text,
  verify: flag,
  second: { type: 'string', enum: ['none', 'optional', 'required'] },
  sign_up: { type: 'boolean', description: 'Anybody may create an account.' },
  password_min: count,
}

const actions = ['list', 'create', 'read', 'update', 'delete', 'restore', 'purge', 'history']

const entity: JsonSchema = closedObject(
  {
    name: text,
    label: textOrNull,
    description: textOrNull,
    title: { ...textOrNull, description: 'The dot path of the text that names an Entity for people.' },
    may: closedObject(Object.fromEntries(actions.map((action) => [action, possible])), actions),
    fields: { type: 'array', items: refTo('ModelField') },
    unique: { type: 'array', items: { type: 'array', items: text } },
    referrers: {
      type: 'array',
      items: closedObject(
        {
          entity: text,
          path: text,
          as: textOrNull,
          on_delete: { type: 'string', enum: ['restrict', 'cascade', 'clear'] },
          list: flag,
          member: text,
        },
        ['entity', 'path', 'as', 'on_delete', 'list'],
      ),
    },
    checks: {
      type: 'array',
      items: closedObject({ at: text, says: text, that: text }, ['at', 'says']),
    },
    search: flag,
    retention: closedObject(
      { trash_ms: { type: ['integer', 'null'] }, journal_ms: { type: ['integer', 'null'] } },
      ['trash_ms', 'journal_ms'],
    ),
    login: { ...closedObject(login, Object.keys(login)), type: ['object', 'null'] },
    rules: closedObject({ access: texts, named: texts }, ['access', 'named']),
  },
  [
    'name',
    'label',
    'description',
    'title',
    'may',
    'fields',
    'unique',
    'referrers',
    'checks',
    'search',
    'retention',
    'login',
  ],
)

const signIn: JsonSchema = closedObject(
  {
    types: {
      type: 'array',
      items: closedObject({ ...login, entity: textOrNull }, [...Object.keys(login), 'entity']),
    },
    providers: {
      type: 'array',
      items: closedObject({ name: text, label: text, start: text }, ['name', 'label', 'start']),
    },
    passkeys: flag,
    first_admin: {
      ...closedObject(
        {
          user_type: text,
          password_min: count,
          fields: { type: 'array', items: refTo('ModelField') },
        },
        ['user_type', 'password_min', 'fields'],
      ),
      type: ['object', 'null'],
      description: 'What the account of the first admin needs; `null` once there is an admin.',
    },
  },
  ['types', 'providers', 'passkeys', 'first_admin'],
)

export const modelSchemas: Readonly<Record<string, JsonSchema>> = {
  Model: closedObject(
    {
      entities: { type: 'array', items: refTo('ModelEntity') },
      admin: { type: 'boolean', description: 'The caller passes every rule.' },
      sign_in: signIn,
      limits: { type: 'object', additionalProperties: count },
      version: { type: 'string', description: 'The version of Takeback.' },
      declaration: {
        type: 'string',
        description: 'Changes when something that the caller may know changes.',
      },
    },
    ['entities', 'admin', 'sign_in', 'limits', 'version', 'declaration'],
  ),
  ModelEntity: entity,
  ModelField: field,
}
