import { budget } from '../../budget.ts'
import { type Expression, no, yes } from '../../declare/cel/expression.ts'
import { allTrue } from '../../declare/cel/fold.ts'
import type { Scope } from '../../declare/cel/scope.ts'
import { type ComputedValue, computedIn } from '../../declare/computed.ts'
import type { Action } from '../../declare/define.ts'
import { unfoldedColumn } from '../../declare/folded-column.ts'
import { type EntityType, type Field, fieldIn, type Model, walk } from '../../declare/model.ts'
import { type FieldAction, ruleFor, rulesOf } from '../../declare/rules.ts'
import { idOnly, membersOf, type Visibility } from '../../declare/scope.ts'
import { isSecret } from '../../declare/values.ts'
import { EMAIL_KEY } from '../tables/schema.ts'
import { type Actor, passesRules, type User, userOf } from './actor.ts'
import { type KeyScope, scopeAllows } from './key-scope.ts'

/** The callers of a Viewer. */
interface ViewerOf {
  /** The type that they log in as; undefined for nobody. */
  readonly login: EntityType | undefined
  /** Whether they pass every rule. */
  readonly passes?: boolean
  /** Whether they act in the name of a user. Then they never purge, and never set a secret or an account's e-mail. */
  readonly limited?: boolean
  /** The maximum rights of a key. Beyond them, no rule allows anything. */
  readonly scope?: KeyScope
}

/**
 * A group of callers for whom all rules read the same: nobody, the members of one login type, those who act in the name
 * of such a member, keys of the same scope, or the admins. Each rule is evaluated for them in advance, as far as
 * possible: to `yes`, to `no`, or to a condition on the Entity.
 */
export class Viewer {
  readonly name: string
  readonly #model: Model
  readonly #login: EntityType | undefined
  readonly #passes: boolean
  readonly #limited: boolean
  readonly #scope: KeyScope | undefined
  readonly #actions = new Map<string, Expression>()
  readonly #fields = new Map<string, ReadonlyMap<string, Expression>>()
  /** For filters, sorts and expansions. */
  readonly visibility: Visibility

  constructor(name: string, model: Model, { login, passes = false, limited = false, scope }: ViewerOf) {
    this.name = name
    this.#model = model
    this.#login = login
    this.#passes = passes
    this.#limited = limited
    this.#scope = scope
    this.visibility = {
      reaches: (type) => this.may(type, 'read') !== no,
      sees: (field, type) => this.mayField(type, field.path, 'read') !== no,
    }
  }

  /** The type that they log in as; undefined for nobody. */
  get login(): EntityType | undefined {
    return this.#login
  }

  /** The rule of an action. Other actions than create also need the right to read. */
  may(type: EntityType, action: Action): Expression {
    if (this.#passes && this.#scope === undefined) return yes
    const key = `${action} ${type.name}`
    const known = this.#actions.get(key)
    if (known !== undefined) return known
    const made = this.#isOutside(type, action) ? no : this.#passes ? yes : this.#ruleOf(type, action)
    this.#actions.set(key, made)
    return made
  }

  /** Whether the action is never allowed, whatever the rules say. */
  #isOutside(type: EntityType, action: Action): boolean {
    if (this.#limited && action === 'purge') return true
    return this.#scope !== undefined && !scopeAllows(this.#scope, type, action)
  }

  #ruleOf(type: EntityType, action: Action): Expression {
    const rule = type.access[action]
    const own = rule === undefined ? no : ruleFor({ rule, subject: action }, type, this.#login, this.#model)
    return action === 'create' || action === 'read' ? own : allTrue([this.may(type, 'read'), own])
  }

  /** The rule of a field, by its dot path; `yes` if it has none. */
  mayField(type: EntityType, path: string, action: FieldAction): Expression {
    if (this.#passes && this.#scope === undefined) return yes
    return this.#rulesOf(type, action).get(path) ?? yes
  }

  /** The fields, without those that they never see and without objects that would be empty. */
  seen(type: EntityType, fields: readonly Field[] = type.fields): Field[] {
    return fields.flatMap((field): Field[] => {
      if (this.mayField(type, field.path, 'read') === no) return []
      if (field.kind !== 'object') return [field]
      const inner = this.seen(type, field.fields)
      return inner.length === 0 ? [] : [{ ...field, fields: inner }]
    })
  }

  /** The computed fields that they see: those whose operands they all see in some Entities. */
  computed(type: EntityType): ComputedValue[] {
    return type.computed.size === 0 ? [] : computedIn(type, this.scopeOf(type).self)
  }

  /** The names that their filters may use. */
  scopeOf(type: EntityType): Scope {
    const { entities } = this.#model
    const all = (of: EntityType) => membersOf(of, entities, this.visibility)
    const login = this.#login
    // A key cannot query parts of its user that it does not see.
    const mine = (of: EntityType) => (this.#scope && !scopeAllows(this.#scope, of, 'read') ? idOnly : all(of))
    return {
      self: all(type),
      me:
        login === undefined
          ? null
          : { entity: login.name, userType: login.login?.userType ?? '', members: mine(login) },
      // Every signed-in caller has an id.
      anybody: [...(login === undefined ? [] : [mine(login)]), idOnly],
    }
  }

  #rulesOf(type: EntityType, action: FieldAction): ReadonlyMap<string, Expression> {
    const key = `${action} ${type.name}`
    const known = this.#fields.get(key)
    if (known !== undefined) return known
    const made = new Map(
      [...(this.#passes ? [] : rulesOf(type, action))].map(([path, rules]) => [
        path,
        allTrue(rules.map((rule) => ruleFor(rule, type, this.#login, this.#model))),
      ]),
    )
    for (const field of walk(type.fields)) if (this.#isKept(type, field, action)) made.set(field.path, no)
    this.#fields.set(key, made)
    return made
  }

  /** Whether it is a credential that they never set. A scoped key may set those of new accounts only. */
  #isKept(type: EntityType, field: Field, action: FieldAction): boolean {
    if (action === 'read' || !isCredential(type, field, action)) return false
    return this.#limited || (this.#scope !== undefined && type.login !== undefined && action === 'change')
  }
}

/** Whether setting the field lets somebody into an account. The e-mail of a new account does not, and is needed. */
function isCredential({ login }: EntityType, field: Field, action: FieldAction): boolean {
  return isSecret(field) || (login !== undefined && field.path === 'email' && action === 'change')
}

/** The read rule of a column. */
export function columnRule(viewer: Viewer, type: EntityType, column: string): Expression {
  const field = fieldOf(type, column)
  return field === undefined ? yes : viewer.mayField(type, field.path, 'read')
}

/** The field whose rules apply to a column. For a derived column, such as the key of an e-mail: that of its text. */
export function fieldOf(type: EntityType, column: string): Field | undefined {
  const isKey = type.login !== undefined && column === EMAIL_KEY
  return fieldIn(type, isKey ? 'email' : unfoldedColumn(column))
}

/** The viewers of a Model, by actor. */
export interface Viewers {
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
  const keys = new KeyViewers(model)
  return {
    of(actor) {
      if (actor.kind === 'key' && actor.scope !== undefined) return keys.of(actor.user, actor.scope)
      if (passesRules(actor)) return passing
      const viewers = actor.kind === 'impersonation' ? limited : users
      return viewers.get(userOf(actor)?.entity ?? '') ?? nobody
    },
  }
}

/** The viewers of keys, by user type and scope. Only the most recently used ones are kept. */
class KeyViewers {
  readonly #model: Model
  readonly #known = new Map<string, Viewer>()

  constructor(model: Model) {
    this.#model = model
  }

  of({ entity, admin }: User, scope: KeyScope): Viewer {
    const name = `key of ${entity} ${scope.shape}`
    const found = this.#known.get(name) ?? this.#make(name, entity, { passes: admin, scope })
    // Moves it to the end: the first entry is the least recently used.
    this.#known.delete(name)
    this.#known.set(name, found)
    return found
  }

  #make(name: string, entity: string, { passes, scope }: { passes: boolean; scope: KeyScope }): Viewer {
    const [oldest] = this.#known.keys()
    if (this.#known.size >= budget.keyShapes && oldest !== undefined) this.#known.delete(oldest)
    const login = this.#model.entities.get(entity)
    return new Viewer(name, this.#model, { login, passes, limited: scope.agent, scope })
  }
}
