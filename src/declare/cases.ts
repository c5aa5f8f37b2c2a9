import type { LoginNames } from './checked.ts'
import type { AppDeclaration, Entities } from './define.ts'
import type { NewFields } from './infer.ts'

/** Entities that exist before the cases, by type and a name of your own. References use these names. */
export type GivenEntities<E> = {
  readonly [Type in keyof E]?: { readonly [name: string]: GivenEntity<E[Type]> }
}

type GivenEntity<Type> = Type extends { readonly fields: infer F extends object }
  ? Partial<NewFields<F, string>> & LoginValues
  : never

/** Filled in for a user who has none. */
interface LoginValues {
  readonly email?: string
  readonly password?: string
}

/** A name such as `bookings/monday`. */
export type GivenName<Given> = {
  [Type in keyof Given & string]: `${Type}/${keyof Given[Type] & string}`
}[keyof Given & string]

/** A user such as `users/anna`, or `nobody` for a caller who is not signed in. */
export type GivenActor<E, Given> =
  | 'nobody'
  | GivenName<Pick<Given, LoginNames<E>[keyof E & string] & keyof Given>>

type EntityQuestion = 'read' | 'history' | 'update' | 'delete' | 'restore' | 'purge'

/** A question such as `read bookings/monday` or `list bookings`. */
export type CaseQuestion<E, Given> =
  | `${'list' | 'create'} ${keyof E & string}`
  | `${EntityQuestion} ${GivenName<Given>}`

/** A question with a body: `['update bookings/monday', { guests: 3 }]`. */
export type CaseRequest<E, Given> = readonly [question: `${CaseQuestion<E, Given>}`, body: object]

/** What one person may and may not do. Template literal types make type errors list the names. */
export interface RuleCase<E, Given> {
  readonly as: `${GivenActor<E, Given>}`
  readonly may?: readonly (`${CaseQuestion<E, Given>}` | CaseRequest<E, Given>)[]
  readonly mayNot?: readonly (`${CaseQuestion<E, Given>}` | CaseRequest<E, Given>)[]
}

export interface RuleCases<E, Given> {
  readonly given: Given
  /** The given Entities that are deleted. */
  readonly deleted?: readonly GivenName<Given>[]
  readonly cases: readonly RuleCase<E, Given>[]
}

/** Declares tests of an app's rules, for `takeback rules test`: the default export of `takeback.rules.ts`. */
export function cases<const E extends Entities, const Given extends GivenEntities<E>>(
  app: AppDeclaration<E>,
  tests: RuleCases<E, Given>,
): RuleCases<E, Given> & { readonly app: AppDeclaration<E> } {
  return Object.freeze({ ...tests, app })
}
