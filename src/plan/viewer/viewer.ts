import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { allTrue } from '../../declare/cel/fold.ts'
import type { Scope } from '../../declare/cel/scope.ts'
import { type ComputedValue, computedIn } from '../../declare/computed.ts'
import { type Action, actions } from '../../declare/define.ts'
import { unfoldedColumn } from '../../declare/folded-column.ts'
import { type EntityType, type Field, fieldIn, type Model, walk } from '../../declare/model.ts'
import { type FieldAction, ruleFor, rulesOf } from '../../declare/rules.ts'
import { idOnly, membersOf, type Visibility } from '../../declare/scope.ts'
import { isSecret } from '../../declare/values.ts'
import { EMAIL_KEY } from '../tables/schema.ts'
import { type Actor, passesRules, userOf } from './actor.ts'

/** Whom a Viewer stands for. */
interface ViewerOf {
  /** The type that they sign in as; undefined for nobody. */
  readonly login: EntityType | undefined
  /** Whether they pass every rule. */
  readonly passes?: boolean
  /** Whether they act in the name of a user: then they never purge, and never set a secret or the e-mail of an account. */
  readonly limited?: boolean
}

/**
 * A group of callers for whom all rules read the same: nobody, the members of one login type, those who act in the name
 * of such a member, or the admins. Each rule is evaluated for them in advance, as far as possible: to `yes`, to `no`, or
 * to a condition on the Entity.
 */
export class Viewer {
  readonly name: string
  readonly #model: Model
  readonly #login: EntityType | undefined
  readonly #passes: boolean
  readonly #limited: boolean
  readonly #actions = new Map<string, Expression>()
  readonly #fields = new Map<string, ReadonlyMap<string, Expression>>()
  /** For filters, sorts and expansions. */
  readonly visibility: Visibility

  constructor(name: string, model: Model, { login, passes = false, limited = false }: ViewerOf) {
    this.name = name
    this.#model = model
    this.#login = login
    this.#passes = passes
    this.#limited = limited
    this.visibility = {
      reaches: (type) => this.may(type, 'read') !== no,
      sees: (field, type) => this.mayField(type, field.path, 'read') !== no,
    }
  }

  /** The type that they sign in as; undefined for nobody. */
  get login(): EntityType | undefined {
    return this.#login
  }

  /** Whoever may not read an Entity may not change it either. */
  may(type: EntityType, action: Action): Expression {
    if (this.#passes) return yes
    const key = `${action} ${type.name}`
    const known = this.#actions.get(key)
    if (known !== undefined) return known
    const made = this.#ruleOf(type, action)
    this.#actions.set(key, made)
    return made
  }

  #ruleOf(type: EntityType, action: Action): Expression {
    if (this.#limited && action === 'purge') return no
    const rule = type.access[action]
    const own = rule === undefined ? no : ruleFor({ rule, subject: action }, type, this.#login, this.#model)
    return action === 'create' || action === 'read' ? own : allTrue([this.may(type, 'read'), own])
  }

  /** Whether they may do anything at all with Entities of a type. */
  mayAny(type: EntityType): boolean {
    return actions.some((action) => this.may(type, action) !== no)
  }

  /** The rule of a field, by its dot path; `yes` if it has none. */
  mayField(type: EntityType, path: string, action: FieldAction): Expression {
    if (this.#passes) return yes
    return this.#rulesOf(type, action).get(path) ?? yes
  }

  /** The fields without those that they never see, and without objects that would be empty. */
  seen(type: EntityType, fields: readonly Field[] = type.fields): Field[] {
    return fields.flatMap((field): Field[] => {
      if (this.mayField(type, field.path, 'read') === no) return []
      if (field.kind !== 'object') return [field]
      const inner = this.seen(type, field.fields)
      return inner.length === 0 ? [] : [{ ...field, fields: inner }]
    })
  }

  /** The computed fields that they see: they see all that these are made of, of some Entities at least. */
  computed(type: EntityType): ComputedValue[] {
    return type.computed.size === 0 ? [] : computedIn(type, this.scopeOf(type).self)
  }

  /** The names that a filter of theirs may use. */
  scopeOf(type: EntityType): Scope {
    const { entities } = this.#model
    const all = (of: EntityType) => membersOf(of, entities, this.visibility)
    const login = this.#login
    return {
      self: all(type),
      me:
        login === undefined
          ? null
          : { entity: login.name, userType: login.login?.userType ?? '', members: all(login) },
      // Whoever is signed in has an id, whatever else.
      anybody: [...(login === undefined ? [] : [all(login)]), idOnly],
    }
  }

  #rulesOf(type: EntityType, action: FieldAction): ReadonlyMap<string, Expression> {
    const key = `${action} ${type.name}`
    const known = this.#fields.get(key)
    if (known !== undefined) return known
    const made = new Map(
      [...rulesOf(type, action)].map(([path, rules]) => [
        path,
        allTrue(rules.map((rule) => ruleFor(rule, type, this.#login, this.#model))),
      ]),
    )
    if (this.#limited && action !== 'read')
      for (const field of walk(type.fields)) if (isCredential(type, field, action)) made.set(field.path, no)
    this.#fields.set(key, made)
    return made
  }
}

/** Whether somebody could log in, or take an account over, with what they set here. A new account must have some e-mail. */
function isCredential({ login }: EntityType, field: Field, action: FieldAction): boolean {
  return isSecret(field) || (login !== undefined && field.path === 'email' && action === 'change')
}

/** Who may see a column. */
export function columnRule(viewer: Viewer, type: EntityType, column: string): Expression {
  const field = fieldOf(type, column)
  return field === undefined ? yes : viewer.mayField(type, field.path, 'read')
}

/** The field whose rules apply to a column: those of the text that it is made from, as the key of an e-mail is. */
export function fieldOf(type: EntityType, column: string): Field | undefined {
  const isKey = type.login !== undefined && column === EMAIL_KEY
  return fieldIn(type, isKey ? 'email' : unfoldedColumn(column))
}

/** The viewers of a Model, by actor. */
export interface Viewers {
  /** Those that are compiled before the first request; others when one of them comes. */
  readonly all: readonly Viewer[]
  of(actor: Actor): Viewer
}

export function viewersOf(model: Model): Viewers {
  const admins = model.admins === undefined ? undefined : model.entities.get(model.admins)
  const passing = new Viewer('', model, { login: admins, passes: true })
  const nobody = new Viewer('nobody', model, { login: undefined })
  const logins = model.logins.filter(({ name }) => name !== model.admins)
  const users = new Map(logins.map((login) => [login.name, new Viewer(login.name, model, { login })]))
  const limited = new Map(
    logins.map((login) => [login.name, new Viewer(`as ${login.name}`, model, { login, limited: true })]),
  )
  return {
    all: [passing, nobody, ...users.values()],
    of(actor) {
      if (passesRules(actor)) return passing
      const viewers = actor.kind === 'impersonation' ? limited : users
      return viewers.get(userOf(actor)?.entity ?? '') ?? nobody
    },
  }
}
