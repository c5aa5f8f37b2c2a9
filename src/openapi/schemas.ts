import { acting, passwordExpiry } from '../api/account/account-schemas.ts'
import { closedObject, manyOf, refTo, type SchemaKind, schemaName } from '../api/description.ts'
import type { Endpoints } from '../api/endpoint.ts'
import { budget } from '../budget.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import { type EntityType, type Login, type Model, reversesOf } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import { type Mode, objectSchema } from '../declare/values.ts'
import { withArticle } from '../declare/with-article.ts'
import { catalogue } from '../errors.ts'
import { mapSchema } from './compose.ts'
import { computedSchemas } from './computed.ts'
import { concealedOf, shownChecks, withoutConcealed, withoutDefaults } from './concealed.ts'

/** All component schemas. Takeback's own begin with a capital letter, so that they cannot clash with declared types. */
export function schemasOf(model: Model, { server, entity }: Endpoints): Record<string, JsonSchema> {
  const types = [...model.entities.values()]
  const own = [...server, ...entity].map(({ schemas }) => schemas?.(model))
  return {
    Error: errorSchema(),
    ...Object.assign({}, ...own),
    ...Object.fromEntries(types.flatMap((type) => Object.entries(typeSchemas(model, type)))),
  }
}

function typeSchemas(model: Model, type: EntityType): Record<string, JsonSchema> {
  const named = (kind: SchemaKind) => schemaName(model, type, kind)
  const reverses = { ...computedSchemas(type, model), ...reverseSchemas(model, type) }
  const whole = entitySchema(type, {}, {}, reverses)
  const one = withArticle(type.name)
  const part = mapSchema(whole, ({ required: _, ...rest }) => rest)
  return {
    [type.name]: {
      ...(type.label !== undefined && { title: type.label }),
      description: [type.description, `${capitalised(one)}, as the API returns it.`]
        .filter(Boolean)
        .join(' '),
      ...(type.title !== undefined && { 'x-title': type.title }),
      ...whole,
    },
    [named('part')]: { description: `The chosen \`fields\` of ${one}.`, ...part },
    [named('trashed')]: {
      description: `${capitalised(one)} in a list with \`trashed\`, with the operation that deleted it.`,
      ...entitySchema(type, {}, { deletion: deletionSchema }, reverses),
    },
    ...bodySchemas(model, type),
    [named('list')]: listSchema(model, type),
    ...(type.login !== undefined && { [named('self')]: selfSchema(type, type.login, model) }),
  }
}

/** The schemas of bodies, and of the answer to a list. */
function bodySchemas(model: Model, type: EntityType): Record<string, JsonSchema> {
  const named = (kind: SchemaKind) => schemaName(model, type, kind)
  const conceals = concealedOf(type, model)
  const sentAs = (mode: Mode) =>
    spoken(portable(withoutConcealed(objectSchema(type.fields, mode, 'in'), type.fields, conceals)))
  const checks = shownChecks(type, model).map(({ at, says }) => ` \`${at}\` ${says}.`)
  const described = (words: string, mode: Mode) => ({
    description: words + checks.join(''),
    ...sentAs(mode),
  })
  return {
    [named('create')]: described(`The body to create ${withArticle(type.name)}.`, 'whole'),
    [named('made')]: {
      description: `The new ${type.name}, in the order in which they were sent.`,
      ...closedObject({ data: manyOf(refTo(type.name)) }, ['data']),
    },
    [named('patch')]: described(PATCH, 'partial'),
    [named('replace')]: described('The complete new values. An absent secret stays as it is.', 'replace'),
  }
}

const PATCH =
  'The keys to change. They are merged (RFC 7396); `null` removes a value. `$add` and `$remove` change a value relative to what it is.'

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const time: JsonSchema = { type: 'string', format: 'date-time' }
const serverTime = (description: string): JsonSchema => ({ ...time, description, readOnly: true })

/** An Entity as the API returns it: every key is present, `null` if it has no value. */
function entitySchema(
  type: EntityType,
  more: Record<string, JsonSchema> = {},
  last: Record<string, JsonSchema> = {},
  reverses: Record<string, JsonSchema> = {},
): JsonSchema {
  const { properties, required } = portable(withoutDefaults(objectSchema(type.fields, 'whole', 'out')))
  const all = {
    id: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, readOnly: true },
    ...more,
    ...(isRecord(properties) ? properties : {}),
    version: {
      type: 'integer',
      minimum: 1,
      readOnly: true,
      description: 'Goes up by one with every change.',
    },
    created_at: serverTime('When it was created.'),
    updated_at: serverTime('When it was last changed.'),
    deleted_at: {
      anyOf: [time, { type: 'null' }],
      readOnly: true,
      description: 'When it was deleted; `null` if it is live.',
    },
    ...last,
  }
  const hidden = new Set(Object.keys(isRecord(properties) ? properties : {}))
  for (const name of Array.isArray(required) ? required : []) hidden.delete(name)
  return closedObject(
    { ...all, ...reverses },
    Object.keys(all).filter((name) => !hidden.has(name)),
  )
}

/** The Entities that refer to the Entity, by their declared name. Present only with `expand`. */
function reverseSchemas(model: Model, { name: target }: EntityType): Record<string, JsonSchema> {
  const schemas = reversesOf(model, target).map(({ name, from, field }): [string, JsonSchema] => {
    const items = { anyOf: [refTo(from.name), refTo(schemaName(model, from, 'part'))] }
    const data = { type: 'array', items, maxItems: budget.pageEntities }
    const next = { type: ['string', 'null'], description: `A \`cursor\` of the list of ${from.name}.` }
    const description = `With \`expand\`: the first ${from.name} that refer to it by \`${field.path}\`.`
    return [name, { ...closedObject({ data, next }, ['data', 'next']), description, readOnly: true }]
  })
  return Object.fromEntries(schemas)
}

function listSchema(model: Model, type: EntityType): JsonSchema {
  const kinds = ['part', 'trashed'] as const
  const items = {
    anyOf: [refTo(type.name), ...kinds.map((kind) => refTo(schemaName(model, type, kind)))],
  }
  return closedObject(
    {
      data: { type: 'array', items },
      next: {
        type: ['string', 'null'],
        description: 'The `cursor` of the next page; `null` on the last page.',
      },
      total: { type: 'integer', minimum: 0, description: 'The number on all pages. Only with `count=1`.' },
    },
    ['data', 'next'],
  )
}

const deletionSchema: JsonSchema = {
  anyOf: [
    closedObject({ operation: { type: 'string' }, actor: { type: ['string', 'null'] } }, [
      'operation',
      'actor',
    ]),
    { type: 'null' },
  ],
  readOnly: true,
  description: 'The operation that deleted it, and its actor.',
}

const verified: JsonSchema = {
  type: 'boolean',
  description: 'Whether the e-mail address is confirmed.',
}

function selfSchema(type: EntityType, { userType, verify }: Login, model: Model): JsonSchema {
  return {
    description: `${capitalised(withArticle(type.name))}, with its user type.`,
    ...entitySchema(
      type,
      { user_type: { const: userType }, ...(verify && { verified }) },
      {},
      { ...computedSchemas(type, model), password_expires_at: passwordExpiry, acting },
    ),
  }
}

/** What `changed_meanwhile` adds to an error. */
const conflictSchemas: Record<string, JsonSchema> = {
  version: { type: 'integer', description: 'With `changed_meanwhile`: the current version.' },
  conflicts: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: {
        now: { description: 'The current value.' },
        version: { type: 'integer', description: 'The version that last changed it.' },
        actor: { type: ['string', 'null'] },
        at: { type: 'string', format: 'date-time' },
        operation: { type: 'string', format: 'uuid' },
      },
      required: ['now'],
    },
    description:
      'With `changed_meanwhile`: the fields that were changed, by dot path. Who changed them is only for those who may see the history.',
  },
}

function errorSchema(): JsonSchema {
  const sentences = { type: 'array', items: { type: 'string' }, minItems: 1 }
  return {
    description: 'Every failure has this shape.',
    ...closedObject(
      {
        message: { type: 'string', description: 'What went wrong, for people to read.' },
        errors: {
          type: 'object',
          additionalProperties: sentences,
          description: 'What is wrong, by dot path: one or more sentences each.',
        },
        code: { type: 'string', enum: Object.keys(catalogue), description: 'What went wrong, for programs.' },
        request_id: {
          type: 'string',
          description: 'The id under which the server log has the cause. Only with status 500 and above.',
        },
        preview: {
          anyOf: [refTo('Undone'), refTo('ChangedMany'), refTo('Planned')],
          description: 'With `plan_changed`: what it would do now.',
        },
        ...conflictSchemas,
      },
      ['message', 'code'],
    ),
    'x-codes': catalogue,
  }
}

/** Type generators treat a key with a default as always present, so the default goes into the description. */
function spoken(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (one) => {
    const { default: given, ...rest } = one
    if (given === undefined) return one
    const words = `Default: \`${JSON.stringify(given)}\`.`
    const { description } = rest
    return { ...rest, description: typeof description === 'string' ? `${description} ${words}` : words }
  })
}

/** Patterns are RE2. One that is not valid in JSON Schema (ECMA-262) goes into the description instead. */
function portable(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (one) => {
    const { pattern, ...rest } = one
    if (typeof pattern !== 'string' || isEcma(pattern)) return one
    return { ...rest, description: `Matches the RE2 pattern ${pattern}` }
  })
}

function isEcma(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}
