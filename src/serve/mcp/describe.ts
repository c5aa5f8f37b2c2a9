import type { Context } from '../../api/context.ts'
import {
  isSeenColumn,
  possible,
  referrersSeen,
  settable,
  showsDefault,
} from '../../api/model/model-access.ts'
import { budget } from '../../budget.ts'
import { type Action, actions } from '../../declare/define.ts'
import type { JsonSchema } from '../../declare/fields/field.ts'
import { type EntityType, type Field, isPointing, pathsIn, walk } from '../../declare/model.ts'
import { isSecret, objectSchema } from '../../declare/values.ts'
import { withoutConcealed } from '../../openapi/concealed.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Actor, actorName, isAgent } from '../../plan/viewer/actor.ts'
import { keyLimits } from '../../plan/viewer/key-scope.ts'
import type { Viewer } from '../../plan/viewer/viewer.ts'
import { fits } from './result.ts'

/** The actions that tools offer. None erases anything for good. */
const OFFERED = actions.filter((action) => action !== 'purge')
const READING: readonly Action[] = ['read', 'history']

/** Whether the caller may do anything with a type. Other types do not exist for them. */
export function isUsable(plan: Plan, actor: Actor): boolean {
  return Object.keys(mayOf(plan, actor)).length > 0
}

/** The possible actions: `always`, or `sometimes`, depending on the Entity and its values. */
function mayOf(plan: Plan, actor: Actor): Partial<Record<Action, 'always' | 'sometimes'>> {
  const { may } = plan.view(actor)
  // Agents must not change accounts.
  const offered = isAgent(actor) && plan.login !== undefined ? READING : OFFERED
  return Object.fromEntries(
    offered
      .map((action) => [action, possible(may[action])] as const)
      .filter(([, one]) => one !== false)
      .map(([action, one]) => [action, one === true ? 'always' : 'sometimes']),
  )
}

/** Describes all types that the caller can use. */
export function describeAll({ plans }: Context, actor: Actor): object {
  const usable = [...plans.values()].filter((plan) => isUsable(plan, actor))
  const entities = usable.map((plan) => ({ ...headOf(plan.type), may: mayOf(plan, actor) }))
  return {
    you: youOf(actor),
    entities: fits(entities) ? entities : usable.map(({ type }) => ({ entity: type.name })),
    next: 'Call describe with an entity for its fields and examples of filters.',
  }
}

function youOf(actor: Actor): object {
  const limits = actor.kind === 'key' ? actor.limits : undefined
  return {
    actor: actorName(actor),
    plans_first: isAgent(actor),
    ...(limits !== undefined && {
      limits: Object.fromEntries(keyLimits.map((name) => [name, limits[name]])),
    }),
  }
}

function headOf({ name, label, description }: EntityType): object {
  return {
    entity: name,
    ...(label !== undefined && { label }),
    ...(description !== undefined && { description }),
  }
}

/** Describes one type, as far as the caller may know it. */
export function describeType({ plans }: Context, plan: Plan, actor: Actor): object {
  const { type } = plan
  const { viewer } = plan.view(actor)
  const seen = viewer.seen(type)
  const sent = settable(viewer, type, type.fields)
  const knows = (name: string) => {
    const other = plans.get(name)
    return other !== undefined && isUsable(other, actor)
  }
  const computed = viewer.computed(type).map(({ name }) => name)
  return {
    ...headOf(type),
    may: mayOf(plan, actor),
    ...(type.title !== undefined && { title: type.title }),
    values: valuesSchema(viewer, type, sent),
    read_only: [
      'id',
      'version',
      'created_at',
      'updated_at',
      'deleted_at',
      ...readOnly(seen, sent),
      ...computed,
    ],
    references: [...walk(seen)].filter(isPointing).map(({ path, target, onDelete }) => ({
      path,
      ...(knows(target) && { entity: target }),
      on_delete: onDelete,
    })),
    referrers: referrersSeen(plans, viewer, type)
      .filter(({ field }) => field.as !== undefined)
      .map(({ from, field }) => ({ name: field.as, entity: from.name })),
    unique: type.uniques.filter((one) => one.every((column) => isSeenColumn(seen, column))),
    search: [...walk(seen)].some((field) => field.kind === 'value' && field.search),
    examples: examplesOf(type, seen),
    limits: { page: budget.pageEntities, parts_of_a_write: budget.batchParts },
  }
}

/** The schema of values to send, without defaults that the caller may not see. */
function valuesSchema(viewer: Viewer, type: EntityType, sent: readonly Field[]): JsonSchema {
  const schema = objectSchema(sent, 'whole', 'in')
  return withoutConcealed(schema, sent, (field) => !showsDefault(viewer, type, field))
}

function readOnly(seen: readonly Field[], sent: readonly Field[]): string[] {
  const set = pathsIn(sent)
  return [...walk(seen)].filter((field) => !set.has(field.path) && !isSecret(field)).map(({ path }) => path)
}

const SAMPLES: Readonly<Record<string, (path: string, schema: JsonSchema) => string>> = {
  text: (path) => `${path}.startsWith("A")`,
  integer: (path) => `${path} >= 3`,
  number: (path) => `${path} >= 2.5`,
  decimal: (path) => `${path} < "10.50"`,
  boolean: (path) => path,
  date: (path) => `${path} >= "2026-01-01"`,
  datetime: (path) => `${path} >= timestamp("2026-01-01T00:00:00Z")`,
  choice: (path, schema) => `${path} == ${JSON.stringify([schema.enum].flat()[0])}`,
}

/** Example filters for the type, one for each kind of field that it has. */
function examplesOf({ name }: EntityType, seen: readonly Field[]): object {
  const filters = new Map<string, string>()
  for (const field of walk(seen)) {
    if (field.kind === 'reference') filters.set('reference', `${field.path}.id == 1`)
    else if (field.kind === 'value' && !field.secret && !filters.has(field.type)) {
      const sample = SAMPLES[field.type]?.(field.path, field.schema)
      if (sample !== undefined) filters.set(field.type, sample)
    }
  }
  filters.set('changed', 'updated_at >= timestamp("2026-01-01T00:00:00Z")')
  return {
    filters: [...filters.values()],
    find: { entity: name, filter: [...filters.values()][0], sort: '-updated_at', limit: 10 },
  }
}
