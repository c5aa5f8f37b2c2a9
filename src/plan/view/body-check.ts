import { no, yes } from '../../declare/cel/expression.ts'
import { didYouMean } from '../../declare/closest.ts'
import type { Check } from '../../declare/fields/field.ts'
import { type EntityType, type Field, isReadOnly, walk } from '../../declare/model.ts'
import type { FieldAction } from '../../declare/rules.ts'
import { HIDDEN, type Mode, objectCheck, type Values } from '../../declare/values.ts'
import type { Errors } from '../../errors.ts'
import { ShapeCache } from '../condition/shape-cache.ts'
import { ownColumns } from '../tables/columns.ts'
import type { FieldAccess, RuleResults } from '../viewer/field-access.ts'

/**
 * Checks a body. All errors go into `errors`; the result is complete only if there are none. For a PUT, the check may
 * depend on what the viewer sees of the Entity.
 */
export type BodyCheck = (mode: BodyMode, body: unknown, errors: Errors, results?: RuleResults) => Values

/** `draft`: the body of a create before its hook, which may add what is missing. */
type BodyMode = Mode | 'draft'

const SET_BY_SERVER = 'is set by the server'

/** Whether only the server sets it. */
function isSet(field: Field): boolean {
  return field.kind !== 'object' && isReadOnly(field)
}

/** `computed`: the computed fields that the viewer sees. */
export function compileBodyCheck(
  type: EntityType,
  fieldAccess: FieldAccess,
  computed: readonly string[] = [],
): BodyCheck {
  const unknown = (key: string, known: readonly string[]) =>
    Object.hasOwn(ownColumns, key) || computed.includes(key)
      ? SET_BY_SERVER
      : `is not a field of ${type.name}${didYouMean(key, known)}`
  const refusalsOf = (mode: BodyMode, results: RuleResults | undefined) => (field: Field) => {
    const setting = mode === 'whole' || mode === 'draft' ? 'write' : 'change'
    const may = (action: FieldAction, { path }: Field) => fieldAccess.may(action, path, results)
    const isOpen = (one: Field) => may(setting, one) === yes && may('read', one) !== no
    const inside = field.kind === 'object' ? [...walk(field.fields)] : []
    const closed = inside.some((one) => may(setting, one) === no)
    // A field that they can never see or set does not exist for them.
    const isThere = (['read', 'write'] as const).some((action) => fieldAccess.may(action, field.path) !== no)
    return {
      refused: !isThere
        ? HIDDEN
        : isSet(field)
          ? SET_BY_SERVER
          : may(setting, field) === no
            ? 'is not yours to set'
            : undefined,
      stays: !isOpen(field) || !inside.every(isOpen) || isSet(field),
      kept: closed && setting === 'change' ? 'has something in it that is not yours to set' : undefined,
      blank: may('read', field) === no && fieldAccess.may('read', field.path) !== no,
    }
  }
  const of = (mode: BodyMode, results?: RuleResults) =>
    objectCheck(type.fields, mode === 'draft' ? 'partial' : mode, unknown, refusalsOf(mode, results))
  const made = { whole: of('whole'), replace: of('replace'), partial: of('partial') }
  const others = new ShapeCache<Check>()
  return (mode, body, errors, results) => {
    const isMade = results === undefined && mode !== 'draft'
    const check = isMade ? made[mode] : others.of(`${mode} ${results}`, () => of(mode, results))
    return check(body, '', errors) as Values
  }
}
