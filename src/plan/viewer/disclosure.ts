import { no, yes } from '../../declare/cel/expression.ts'
import type { Model } from '../../declare/model.ts'
import { columnRule, fieldOf, type Viewer } from './viewer.ts'

/** What a conflict may reveal to a viewer about data of others. Types and columns are given by name. */
export interface Disclosure {
  /** Which Entity of a type it is: only if they see all of them. */
  entity(type: string): boolean
  /** That a type has a field: if they see it in some Entities. */
  field(type: string, path: string): boolean
  /** The values of columns: only if they see these columns in every Entity. */
  values(type: string, columns: readonly string[]): boolean
  /**
   * That a column exists: if they see or set it in some Entities. An undeclared column may be revealed too, unless the
   * object around it is hidden.
   */
  column(type: string, column: string): boolean
}

export function disclosureFor(viewer: Viewer, { entities }: Model): Disclosure {
  const known = (name: string, column: string) => {
    const type = entities.get(name)
    const field = type === undefined ? undefined : fieldOf(type, column)
    if (type === undefined || field === undefined) return true
    return (['read', 'write'] as const).some((which) => viewer.mayField(type, field.path, which) !== no)
  }
  const column = (name: string, path: string) =>
    path.split('.').every((_, at, names) => known(name, names.slice(0, at + 1).join('.')))
  return {
    column,
    field(name, path) {
      const type = entities.get(name)
      return type !== undefined && viewer.may(type, 'read') !== no && column(name, path)
    },
    entity(name) {
      const type = entities.get(name)
      return type !== undefined && viewer.may(type, 'read') === yes
    },
    values(name, columns) {
      const type = entities.get(name)
      return type !== undefined && columns.every((column) => columnRule(viewer, type, column) === yes)
    },
  }
}
