import { refTo, type Success } from '../api/description.ts'
import type { Endpoints, EntityEndpoint, ServerEndpoint } from '../api/endpoint.ts'
import { endpoints } from '../api/endpoints.ts'
import { type ParameterName, planning } from '../api/parameters.ts'
import type { JsonSchema } from '../declare/fields/field.ts'
import type { EntityType, Model } from '../declare/model.ts'
import type { Code } from '../errors.ts'
import { aboutEntity, aboutServer } from './about.ts'
import { isOpen } from './access.ts'
import type { Operation } from './operation.ts'
import { parametersOf, sharedParameters } from './parameters.ts'

/** Failures that any call can have. */
const ANYWHERE: readonly Code[] = [
  'malformed_header',
  'invalid_token',
  'password_change_required',
  'second_factor_setup_required',
  'not_acceptable',
  'invalid_data',
  'rate_limited',
  'internal',
  'unavailable',
  'starting',
  'outdated',
]
const WITH_BODY: readonly Code[] = [
  'malformed_json',
  'abandoned',
  'not_an_object',
  'too_deep',
  'too_large',
  'unsupported_media_type',
  'unsupported_encoding',
]
const WITH_BYTES: readonly Code[] = ['too_large', 'unsupported_encoding']

/** The failures that the limits of a key add to a write. */
const OF_KEYS: readonly Code[] = ['over_budget']
/** The failures of a write that can be previewed. */
const PLANNED: readonly Code[] = ['plan_changed']

/** Returns all endpoints in the order in which they are shown: sessions, the Entity types, and the rest. */
export function operationsOf(model: Model, { server, entity }: Endpoints = endpoints): Operation[] {
  const about = aboutServer(model)
  const once = server.map((one): Operation => {
    const said = one.describe(about)
    return {
      ...commonOf(one, said, one.ownLogin ? ['own_login_required'] : []),
      path: one.path,
      id: one.name,
      tag: one.tag,
      open: said.open ?? one.access === 'everyone',
      parameters: [...sharedParameters([...one.parameters, ...planningOf(one)]), ...(said.parameters ?? [])],
    }
  })
  const first = once.findIndex(({ tag }) => tag !== once[0]?.tag)
  const types = [...model.entities.values()].flatMap((type) => ofEntity(model, type, entity))
  return [...once.slice(0, first), ...types, ...once.slice(first)]
}

function ofEntity(model: Model, type: EntityType, all: readonly EntityEndpoint[]): Operation[] {
  const about = aboutEntity(model, type)
  const shown = all.filter(({ shownFor }) => shownFor?.(type) ?? true)
  return shown.map((one) => {
    const said = one.describe(about)
    const { rule } = one
    return {
      ...commonOf(one, said),
      path: one.path.replace('{entity}', type.name),
      id: `${one.name}${labelOf(type)}`,
      tag: type.name,
      open:
        said.open ??
        ('any' in rule
          ? isOpen(type, model, rule.any)
          : rule.all.every((action) => isOpen(type, model, [action]))),
      parameters: [...parametersOf(one, type, model), ...sharedParameters(planningOf(one))],
    }
  })
}

/** `order_lines` → `OrderLines`. Type names have no capitals, so no two types get the same label. */
function labelOf({ name }: EntityType): string {
  const capital = (letter: string) => letter.toUpperCase()
  return name.replace(/^[a-z]/, capital).replace(/_([a-z])/g, (_, letter: string) => capital(letter))
}

type Common = Omit<Operation, 'path' | 'id' | 'tag' | 'open' | 'parameters'>

function commonOf(
  {
    method,
    body,
    expired,
    withoutFactor,
    plans,
    answer,
    produces = ['application/json'],
  }: ServerEndpoint | EntityEndpoint,
  said: ReturnType<ServerEndpoint['describe']>,
  more: readonly Code[] = [],
): Common {
  const { summary, description, answers, codes, query = '' } = said
  const avoided: readonly Code[] = [
    ...(expired ? (['password_change_required'] as const) : []),
    ...(withoutFactor ? (['second_factor_setup_required'] as const) : []),
  ]
  return {
    method,
    summary,
    description,
    query,
    answers: plans === 'apart' ? withPreview(answers) : answers,
    types: produces,
    body: said.body && { ...said.body, optional: body === 'optional' },
    codes: [
      ...ANYWHERE.filter((code) => !avoided.includes(code)),
      ...(body === undefined ? [] : body === 'bytes' ? WITH_BYTES : WITH_BODY),
      ...more,
      ...codes,
      // A write counts towards the limits of a key, unless its `answer` is kept.
      ...(answer !== 'kept' && answers.some(({ headers }) => headers.includes('Idempotent-Replay'))
        ? OF_KEYS
        : []),
      ...(plans === 'apart' ? PLANNED : []),
    ],
  }
}

function planningOf({ plans }: ServerEndpoint | EntityEndpoint): readonly ParameterName[] {
  return plans === 'apart' ? planning : []
}

/** With `dry_run=1`, every write has the same answer. */
function withPreview(answers: readonly Success[]): Success[] {
  const preview = refTo('Planned')
  const description = 'With `dry_run=1`: what it would do.'
  if (!answers.some(({ status }) => status === 200))
    return [...answers, { status: 200, description, headers: [], schema: preview }]
  return answers.map((one) =>
    one.status === 200
      ? {
          ...one,
          description: `${one.description} ${description}`,
          schema: { anyOf: [...anyOf(one.schema), preview] },
        }
      : one,
  )
}

function anyOf(schema: JsonSchema | undefined): readonly JsonSchema[] {
  return schema === undefined ? [] : Array.isArray(schema.anyOf) ? schema.anyOf : [schema]
}
