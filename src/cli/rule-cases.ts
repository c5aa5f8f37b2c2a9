import type { Context } from '../api/context.ts'
import { perform } from '../api/perform.ts'
import { Query } from '../api/query.ts'
import { denialReason, parseQuestion, type Question } from '../api/read/may.ts'
import { create } from '../api/write/create.ts'
import { remove } from '../api/write/remove.ts'
import { didYouMean } from '../declare/closest.ts'
import type { Field } from '../declare/model.ts'
import { isRecord } from '../declare/record.ts'
import type { Values } from '../declare/values.ts'
import { type Errors, Failure, StartError } from '../errors.ts'
import { type Actor, nobody, passesRules, system } from '../plan/viewer/actor.ts'

/** The result of `cases`, which is not checked yet. */
interface SentCases {
  readonly given: unknown
  readonly deleted: unknown
  readonly cases: unknown
}

/** Tries all cases on a separate database. Returns how many there are, and a sentence for each that fails. */
export async function tryCases(
  context: Context,
  { given, deleted = [], cases }: SentCases,
): Promise<{ readonly count: number; readonly failed: readonly string[] }> {
  const names = await addGiven(context, given)
  if (!Array.isArray(deleted))
    throw new StartError("deleted must be a list of names, such as ['bookings/old'].")
  for (const name of deleted) await deleteGiven(context, names.find(String(name), 'deleted'))
  if (!Array.isArray(cases) || !cases.every(isRecord))
    throw new StartError("cases must be a list, such as [{ as: 'users/anna', may: ['list bookings'] }].")
  const failed: string[] = []
  let count = 0
  for (const [at, one] of cases.entries())
    for (const expected of ['may', 'mayNot'] as const) {
      const questions: unknown = one[expected] ?? []
      if (!Array.isArray(questions)) throw new StartError(`cases.${at}.${expected} must be a list.`)
      for (const [number, sent] of questions.entries()) {
        count++
        const place = `cases.${at}.${expected}.${number}`
        const wrong = await tryOne(context, names, { as: one.as, sent, expected, place })
        if (wrong !== undefined) failed.push(wrong)
      }
    }
  return { count, failed }
}

/** One line of a case. */
interface SentQuestion {
  readonly as: unknown
  readonly sent: unknown
  readonly expected: 'may' | 'mayNot'
  readonly place: string
}

/** Tries one question. Returns a sentence if the expectation does not hold. */
async function tryOne(
  context: Context,
  names: Names,
  { as, sent, expected, place }: SentQuestion,
): Promise<string | undefined> {
  const actor = as === 'nobody' ? nobody : names.user(context, String(as), place.replace(/\.may.*/, '.as'))
  const { question, said } = questionOf(context, names, sent, place)
  const failure = await denialReason(context, actor, question)
  if (failure === undefined) return expected === 'may' ? undefined : `${as} may ${said}, but should not.`
  if (expected === 'may') return `${as} may not ${said}, but should: ${refusalText(failure)}`
  if (passesRules(actor)) return undefined
  // If the system is refused for the same reason, no rule was tried.
  const other = await denialReason(context, system, question)
  if (other?.code !== failure.code) return undefined
  return `${as} may not ${said}, but not because of a rule: ${refusalText(failure)}`
}

/** The refusal in one line, or with a line for each path. */
function refusalText({ message, errors, denied }: Failure): string {
  const lines = [...(errors ?? [])].map(([path, sentences]) => `\n    ${path} ${sentences.join(', ')}`)
  return `${message}${lines.join('')}${denied === undefined ? '' : `\n    ${denied}`}`
}

/** Reads `'read bookings/monday'` or `['create bookings', { … }]`. */
function questionOf(
  context: Context,
  names: Names,
  sent: unknown,
  place: string,
): { readonly question: Question; readonly said: string } {
  const [text, body]: readonly unknown[] = Array.isArray(sent) ? sent : [sent]
  const [action, name = '', ...more] = String(text).split(' ')
  if (typeof text !== 'string' || more.length > 0 || name === '')
    throw new StartError(`${place} must be an action and a name, such as 'read bookings/monday'.`)
  const type = context.model.entities.get(name.split('/')[0] ?? '')
  if (type === undefined)
    throw new StartError(
      `${place}: "${name}" is not of a declared Entity type${hintFor(name, [...context.model.entities.keys()])}`,
    )
  const path = name.includes('/') ? names.find(name, place).path : name
  const filled = isRecord(body) ? names.withIds(type.fields, body, place) : body
  const errors: Errors = new Map()
  const question = parseQuestion(context, { action, path, body: filled }, errors)
  const [wrong] = errors
  if (question === undefined || wrong !== undefined)
    throw new StartError(`${place}: ${wrong?.[0]} ${wrong?.[1].join(', ')}.`)
  return { question, said: `${text}${body === undefined ? '' : ` with ${JSON.stringify(body)}`}` }
}

/** An Entity that exists before the cases. */
interface GivenPlace {
  readonly entity: string
  readonly id: number
  /** `bookings/7` */
  readonly path: string
}

class Unmade extends Error {}

/** The end of a sentence about an unknown name. */
function hintFor(name: string, known: readonly string[]): string {
  return didYouMean(name, known) || '.'
}

/** The given Entities, by their names: `bookings/monday`. */
class Names {
  readonly #made = new Map<string, GivenPlace>()
  readonly #all: readonly string[]

  constructor(all: readonly string[]) {
    this.#all = all
  }

  add(name: string, entity: string, id: number): void {
    this.#made.set(name, { entity, id, path: `${entity}/${id}` })
  }

  has(name: string): boolean {
    return this.#made.has(name)
  }

  find(name: string, place: string): GivenPlace {
    const made = this.#made.get(name)
    if (made !== undefined) return made
    if (this.#all.includes(name)) throw new Unmade(name)
    throw new StartError(`${place}: there is no "${name}" in given${hintFor(name, this.#all)}`)
  }

  user({ model }: Context, name: string, place: string): Actor {
    const { entity, id } = this.find(name, place)
    if (!model.logins.some((login) => login.name === entity))
      throw new StartError(`${place}: ${name} cannot sign in: ${entity} have no login.`)
    return { kind: 'user', entity, id, admin: entity === model.admins }
  }

  /** Returns a body with ids in place of names. */
  withIds(fields: readonly Field[], body: Values, place: string): Values {
    const found = { ...body }
    for (const field of fields) {
      const value = body[field.name]
      const at = `${place}, ${field.path}`
      if (field.kind === 'object' && isRecord(value))
        found[field.name] = this.withIds(field.fields, value, place)
      if (field.kind === 'reference') found[field.name] = this.#id(field.target, value, at)
      if (field.kind === 'links') found[field.name] = this.#ids(field.target, value, at)
      if (found[field.name] === undefined) delete found[field.name]
    }
    return found
  }

  #id(target: string, value: unknown, place: string): unknown {
    if (typeof value !== 'string') return value
    return { id: this.find(value.includes('/') ? value : `${target}/${value}`, place).id }
  }

  /** Replaces names in a list, or in what is added to and removed from it. */
  #ids(target: string, value: unknown, place: string): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#id(target, one, place))
    if (!isRecord(value)) return value
    const parts = Object.entries(value).map(([key, part]) => [key, this.#ids(target, part, place)])
    return Object.fromEntries(parts)
  }
}

/** Creates the given Entities as the system. Those that others refer to come first. */
async function addGiven(context: Context, given: unknown): Promise<Names> {
  if (
    !isRecord(given) ||
    !Object.values(given).every((of) => isRecord(of) && Object.values(of).every(isRecord))
  )
    throw new StartError("given must have names by type, such as { users: { anna: { name: 'Anna' } } }.")
  const types = Object.entries(given) as [string, Readonly<Record<string, Values>>][]
  const all = types.flatMap(([type, of]) =>
    Object.entries(of).map(([name, body]) => ({ type, name, key: `${type}/${name}`, body })),
  )
  const names = new Names(all.map(({ key }) => key))
  let left = all
  while (left.length > 0) {
    const later: typeof all = []
    for (const one of left)
      try {
        names.add(one.key, one.type, await addOne(context, names, one))
      } catch (error) {
        if (!(error instanceof Unmade)) throw error
        later.push(one)
      }
    if (later.length === left.length)
      throw new StartError(
        `given: ${later.map(({ key }) => key).join(' and ')} refer to each other, so none can be created first.`,
      )
    left = later
  }
  return names
}

async function addOne(
  context: Context,
  names: Names,
  { type: name, key, body, name: own }: { type: string; key: string; body: Values; name: string },
): Promise<number> {
  const plan = context.plans.get(name)
  if (plan === undefined)
    throw new StartError(
      `given: "${name}" is not a declared Entity type${hintFor(name, [...context.plans.keys()])}`,
    )
  const login = plan.login === undefined ? {} : { email: `${own}.${name}@example.com`, password: PASSWORD }
  const filled = { ...login, ...names.withIds(plan.type.fields, body, `given.${name}.${own}`) }
  try {
    const answer = await perform(context.store, create(plan, system, filled))
    return (JSON.parse(answer.body ?? '{}') as { id: number }).id
  } catch (error) {
    if (error instanceof Failure)
      throw new StartError(`given: ${key} cannot be created: ${refusalText(error)}`)
    throw error
  }
}

const PASSWORD = 'for the cases of rules only'

async function deleteGiven(context: Context, { entity, id, path }: GivenPlace): Promise<void> {
  const plan = context.plans.get(entity)
  if (plan === undefined) return
  try {
    const removal = { id, query: Query.empty, when: { ifMatch: null } }
    await perform(context.store, remove(context, plan, system, removal))
  } catch (error) {
    if (error instanceof Failure)
      throw new StartError(`deleted: ${path} cannot be deleted: ${refusalText(error)}`)
    throw error
  }
}
