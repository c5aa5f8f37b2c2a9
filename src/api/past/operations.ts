import { budget } from '../../budget.ts'
import type { Model } from '../../declare/model.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { journalledDifference } from '../../journal/difference.ts'
import type { Upcaster } from '../../journal/upcast.ts'
import {
  type changeColumns,
  kindCountColumns,
  type OperationFilter,
  type OperationPlace,
  operationColumns,
  pickedColumns,
  placedColumns,
} from '../../plan/past/operations.ts'
import type { Knowledge } from '../../plan/view/known.ts'
import { type Actor, actorName, parseActor, passesRules, userOf } from '../../plan/viewer/actor.ts'
import { type Act, read } from '../../store/act.ts'
import type { Params } from '../../store/dialect.ts'
import type { Statement } from '../../store/sql.ts'
import { type Answer, type Context, signInFirst } from '../context.ts'
import { OPERATIONS, refTo } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { knowledgeOf } from '../knowledge.ts'
import { isRun, notesOf } from '../notes.ts'
import { perform } from '../perform.ts'
import { parseTime, type Query } from '../query.ts'
import { limitOf } from '../read/list.ts'
import { changedSecrets, shownSecrets } from './changed-secrets.ts'
import { operationSchemas } from './past-schemas.ts'

/** The kinds of changes. */
const KINDS: readonly string[] = ['create', 'update', 'delete', 'restore', 'purge', 'migrate']

/** `GET /api/operations/`: operations, newest first. Admins see all, others see their own. */
export async function operations(
  context: Context,
  actor: Actor,
  query: Query<'actor' | 'since' | 'until' | 'entity' | 'kind' | 'cause' | 'run' | 'limit' | 'cursor'>,
): Promise<Answer> {
  const errors: Errors = new Map()
  const given = query.take(errors)
  const limit = limitOf(given.limit, errors)
  const before = given.cursor === undefined ? undefined : openOperationsCursor(given.cursor, errors)
  const { kind, cause } = given
  if (kind !== undefined && !KINDS.includes(kind))
    addError(errors, 'kind', `must be one of ${KINDS.join(', ')}`)
  if (cause !== undefined && !isOperation(cause)) addError(errors, 'cause', 'must be the id of an operation')
  const filter = { ...parseFilter(context, given, errors), kind, cause, before }
  const seen = visibleTo(actor, filter)
  if (errors.size > 0) throw invalid(errors)
  const { statement, params } = filterParams(seen, (one) => context.operations.page(one, limit + 1))
  const rows = (await context.store.read(statement, params)).map(placedColumns.read)
  const shown = rows.slice(0, limit)
  const ids = shown.map(({ operation }) => String(operation))
  const summaries = await summariesOf(context, ids)
  const notes = await perform(context.store, notesOf(context, ids))
  const data = shown.map((one) => ({
    ...headOf(one),
    ...notes.get(String(one.operation)),
    summary: summaries.get(String(one.operation)) ?? {},
  }))
  const last = rows.length > limit ? shown.at(-1) : undefined
  const next = last === undefined ? null : operationsCursor(last)
  return { status: 200, body: JSON.stringify({ data, next }) }
}

function operationsCursor({ place, operation }: ReturnType<typeof placedColumns.read>): string {
  return Buffer.from(`${place} ${operation}`).toString('base64url')
}

function openOperationsCursor(text: string, errors: Errors): OperationPlace | undefined {
  const [at = '', operation = ''] = Buffer.from(text, 'base64url').toString().split(' ')
  if (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at) &&
    isOperation(operation) &&
    !Number.isNaN(Date.parse(at))
  )
    return { at, operation }
  return addError(errors, 'cursor', 'is not a cursor of this list')
}

/** `GET /api/operations/<id>/`: one operation with its changes. */
export async function operation(
  context: Context,
  actor: Actor,
  id: string,
  query: Query<'limit' | 'cursor'>,
): Promise<Answer> {
  const errors: Errors = new Map()
  const given = query.take(errors)
  const limit = limitOf(given.limit, errors)
  const after = given.cursor === undefined ? 0 : Number(/^\d{1,15}$/.exec(given.cursor)?.[0] ?? Number.NaN)
  if (Number.isNaN(after)) addError(errors, 'cursor', 'is not a cursor of this list')
  const head = await perform(context.store, visibleOperation(context, actor, id))
  if (errors.size > 0) throw invalid(errors)
  const params = { $operation: id, $after: after }
  const rows = await context.store.read(context.operations.changes(limit + 1), params)
  const shown = rows.slice(0, limit).map(pickedColumns.read)
  const entities = shown.map((one) => [String(one.entity), Number(one.id)] as const)
  const known = await perform(context.store, knowledgeOf(context, actor, entities))
  const notes = await perform(context.store, notesOf(context, [id]))
  const secrets = await perform(context.store, changedSecrets(context, actor, entities))
  const body = {
    ...headOf(head),
    ...notes.get(id),
    summary: (await summariesOf(context, [id])).get(id) ?? {},
    data: shown.map((one) => {
      const knowledge = known.get(`${one.entity}/${one.id}`)
      const shownOne = shownChange(one, knowledge, context.upcasterOf(String(one.entity)))
      const paths = knowledge?.history ? secrets(String(one.entity), Number(one.id), Number(one.version)) : []
      return { ...shownOne, ...shownSecrets(paths) }
    }),
    next: Number(shown[0]?.picked ?? 0) > shown.length ? String(shown.at(-1)?.seq) : null,
  }
  return { status: 200, body: JSON.stringify(body) }
}

type OperationRow = ReturnType<typeof operationColumns.read>

/** Finds an operation by its id. */
export function* operationById({ operations }: Context, id: string): Act<OperationRow | undefined> {
  const [row] = isOperation(id) ? yield* read(operations.byId, { $operation: id }) : []
  return row === undefined ? undefined : operationColumns.read(row)
}

/** Finds an operation that the actor may see. */
function* visibleOperation(context: Context, actor: Actor, id: string): Act<OperationRow> {
  if (actor.kind === 'nobody') throw signInFirst()
  const found = yield* operationById(context, id)
  if (found === undefined || !(yield* isVisible(context, actor, found))) throw new Failure('not_found')
  return found
}

/** Whether the actor did it, or it was done in their name, or they are an admin. A key must also be for its types. */
export function* isVisible(context: Context, actor: Actor, operation: OperationRow): Act<boolean> {
  const own = userOf(actor)
  const isOwn = own !== undefined && operation.user === own.entity && Number(operation.userId) === own.id
  if (!seesAll(actor) && !isOwn) return false
  const within = typesOfKey(actor)
  if (within === undefined || operation.actor === within.key) return true
  const params = { $operations: JSON.stringify([operation.operation]) }
  const kinds = (yield* read(context.operations.kinds, params)).map(kindCountColumns.read)
  return kinds.every(({ entity }) => within.types.includes(String(entity)))
}

/** Whether the actor sees the operations of everybody, as admins do. */
function seesAll(actor: Actor): boolean {
  return passesRules(actor) || (userOf(actor)?.admin ?? false)
}

/** The types that a key is for. Operations on other types do not exist for it, unless it made them itself. */
function typesOfKey(actor: Actor): OperationFilter['within'] {
  const named = actor.kind === 'key' ? actor.scope?.entities : undefined
  if (named === undefined) return undefined
  const types = [...named].flatMap(([type, may]) => (may.has('read') ? [type] : []))
  return { types, key: String(actorName(actor)) }
}

/** Limits the filter to what the actor may see. */
export function visibleTo(actor: Actor, filter: OperationFilter): OperationFilter {
  if (actor.kind === 'nobody') throw signInFirst()
  const own = userOf(actor)
  const seen = { ...filter, within: typesOfKey(actor) }
  if (seesAll(actor) || own === undefined) return seen
  const { user, via } = filter.actor ?? {}
  if (user !== undefined && (user.name !== own.entity || user.id !== own.id)) throw new Failure('forbidden')
  return { ...seen, actor: { user: { name: own.entity, id: own.id }, via } }
}

/** Reads the filter. Operations must match all of its parts. */
export function parseFilter(
  { model }: Context,
  given: Partial<Record<'actor' | 'since' | 'until' | 'entity' | 'run', string | undefined>>,
  errors: Errors,
): OperationFilter {
  const { run } = given
  if (run !== undefined && !isRun(run))
    addError(errors, 'run', `must have 1 to ${budget.runCharacters} visible ASCII characters`)
  return {
    actor: parseActor(
      given.actor,
      model.logins.map(({ name }) => name),
      errors,
    ),
    since: parseTime('since', given.since, errors),
    until: parseTime('until', given.until, errors),
    entity: parseEntity(model, given.entity, errors),
    run,
  }
}

/** Reads `bookings` or `bookings/7`. */
function parseEntity(
  { entities }: Model,
  text: string | undefined,
  errors: Errors,
): OperationFilter['entity'] {
  if (text === undefined) return undefined
  const [, type = '', id] = /^([^/]*)(?:\/([1-9]\d{0,15}))?$/.exec(text) ?? []
  if (entities.has(type)) return { type, id: id === undefined ? null : Number(id) }
  return addError(errors, 'entity', 'must be an Entity type, or one of its Entities, such as bookings/7')
}

/** Returns the statement for a filter, and its parameters. */
export function filterParams(
  filter: OperationFilter,
  make: (filter: OperationFilter) => Statement,
): { statement: Statement; params: Params } {
  const params: Params = {
    $actor: filter.actor?.user?.name ?? null,
    $actor_id: filter.actor?.user?.id ?? null,
    $via: filter.actor?.via ?? null,
    $since: filter.since ?? null,
    $until: filter.until ?? null,
    $entity: filter.entity?.type ?? null,
    $entity_id: filter.entity?.id ?? null,
    $before: filter.before?.operation ?? null,
    $before_at: filter.before?.at ?? null,
    $kind: filter.kind ?? null,
    $cause: filter.cause ?? null,
    $run: filter.run ?? null,
    $types: JSON.stringify(filter.within?.types ?? []),
    $key: filter.within?.key ?? null,
  }
  return { statement: make(filter), params }
}

export function isOperation(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}

function headOf({ operation, at, actor, cause, changes }: OperationRow): object {
  return { id: operation, at, actor, changes: Number(changes), ...(cause !== null && { cause }) }
}

/** Counts the changes of operations: `{"bookings": {"delete": 3, "update": 1}}`. */
async function summariesOf(context: Context, ids: readonly string[]): Promise<Map<string, object>> {
  const summaries = new Map<string, Record<string, Record<string, number>>>()
  if (ids.length === 0) return summaries
  const found = await context.store.read(context.operations.kinds, { $operations: JSON.stringify(ids) })
  for (const { operation, entity, kind, number } of found.map(kindCountColumns.read)) {
    const summary = summaries.get(String(operation)) ?? {}
    summaries.set(String(operation), summary)
    const kinds = summary[String(entity)] ?? {}
    summary[String(entity)] = kinds
    kinds[String(kind)] = Number(number)
  }
  return summaries
}

/** Shows a change to whoever made it. The values are only for those who may see the Entity's history. */
function shownChange(
  { entity, id, version, kind, data, before }: ReturnType<typeof changeColumns.read>,
  knowledge: Knowledge | undefined,
  upcaster: Upcaster,
): object {
  // A migration is about the whole type. The history of an Entity shows what it changed there.
  if (kind === 'migrate') return { entity, id: null, version: null, kind, changed: null }
  const isFirst = Number(version) === 1
  const isKnown = knowledge?.history && data !== null && (isFirst || before !== null)
  return {
    entity,
    id: Number(id),
    version: Number(version),
    kind,
    changed: isKnown ? journalledDifference(knowledge.fields, upcaster, isFirst ? null : before, data) : null,
  }
}

export const listOperations = serverEndpoint({
  name: 'listOperations',
  method: 'GET',
  path: '/api/operations/',
  tag: OPERATIONS,
  parameters: ['actor', 'since', 'until', 'entity', 'kind', 'cause', 'run', 'limit', 'cursor'],
  access: 'signed-in',
  schemas: () => operationSchemas,
  describe: () => ({
    summary: 'List operations',
    description: 'Newest first. Admins see all operations; others see their own.',
    answers: [
      {
        status: 200,
        description: 'A page of operations.',
        headers: [],
        schema: refTo('Operations'),
        example: {
          data: [
            {
              id: '01973a2e-7c40-7000-8000-5f1d2c3b4a59',
              at: '2026-06-02T17:00:00.000Z',
              actor: 'users/3',
              changes: 4,
              summary: { bookings: { delete: 4 } },
            },
          ],
          next: null,
        },
      },
    ],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: (context, { caller, query }) => operations(context, caller.actor, query),
})

export const readOperation = serverEndpoint({
  name: 'readOperation',
  method: 'GET',
  path: '/api/operations/{id}/',
  tag: OPERATIONS,
  parameters: ['operation', 'limit', 'cursor'],
  access: 'signed-in',
  describe: () => ({
    summary: 'Read an operation',
    description: 'Returns the operation with one page of its changes.',
    answers: [{ status: 200, description: 'The operation.', headers: [], schema: refTo('OperationInFull') }],
    codes: ['unauthenticated', 'not_found'],
  }),
  run: (context, { caller, id, query }) => operation(context, caller.actor, id, query),
})
