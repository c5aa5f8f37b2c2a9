import { vouching } from '../api/account/verified.ts'
import { transact } from '../api/perform.ts'
import { create } from '../api/write/create.ts'
import { type App, loadModel, openApp } from '../app.ts'
import { didYouMean } from '../declare/closest.ts'
import { type EntityType, type Field, walk } from '../declare/model.ts'
import { Failure, StartError } from '../errors.ts'
import { system } from '../plan/viewer/actor.ts'
import { describeLocation } from '../store/location.ts'
import type { Command } from './arguments.ts'
import { helpOption, keptConfigOf, storeOptions } from './options.ts'
import { askPassword } from './password.ts'

export const userAdd: Command = {
  name: 'user add',
  usage: 'takeback user add <entity> <email> [--password P] [--set name=value …] [--verified]',
  summary: 'Adds a user of a login type, whether or not a server is running.',
  options: {
    password: {
      value: 'P',
      help: 'the password; if absent, it is asked for on a terminal or read from a pipe',
    },
    set: {
      value: 'name=value',
      many: true,
      help: 'a field by its dot path; unless it is a text, the value is read as JSON',
    },
    verified: {
      value: undefined,
      help: 'the e-mail address counts as confirmed; that of an admin always does',
    },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const [entity, email, ...more] = given.words
    if (entity === undefined || email === undefined || more.length > 0)
      throw new StartError('Name a type and an e-mail: takeback user add <entity> <email>.')
    const config = keptConfigOf(given)
    const app = await openApp(config, await loadModel(config.file), { makes: 'first' })
    try {
      const type = loginType(app, entity)
      const values = assign(type, given.texts('set'))
      const password = given.text('password') ?? (await askPassword())
      const added = await addUser(
        app,
        entity,
        { ...values, email, password },
        given.text('verified') !== undefined,
      )
      console.log(`Added ${added} to ${describeLocation(config.database)}.`)
    } finally {
      await app.close()
    }
  },
}

/** Uses the same operation as the API, so that the same checks apply. */
export async function addUser(
  { context }: Pick<App, 'context'>,
  entity: string,
  body: object,
  verified = false,
): Promise<string> {
  const plan = context.plans.get(entity)
  if (plan === undefined) throw new StartError(`There is no Entity type ${entity}.`)
  try {
    // Whoever runs the server must always be able to let an admin in.
    const vouched = verified || entity === context.model.admins
    const make = () =>
      vouched ? vouching(context, plan, create(plan, system, body)) : create(plan, system, body)
    const { body: json } = await transact(context.store, make)
    return `${entity}/${(JSON.parse(json ?? '{}') as { id: number }).id}`
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const lines = [...(error.errors ?? [])].map(([path, sentences]) => `  ${path} ${sentences.join(', ')}`)
    throw new StartError([`The user was not added: ${error.message}.`, ...lines].join('\n'))
  }
}

export function loginType({ context }: App, entity: string): EntityType {
  const names = context.model.logins.map(({ name }) => name)
  const type = context.model.logins.find(({ name }) => name === entity)
  if (type !== undefined) return type
  throw new StartError(
    `"${entity}" is not a login type${didYouMean(entity, names)} (there are: ${names.join(', ')}).`,
  )
}

/** Reads `--set address.city=Bonn --set seats=3`. Values are JSON unless the field is a text. */
function assign(type: EntityType, pairs: readonly string[]): object {
  const values: Record<string, unknown> = {}
  const fields = new Map([...walk(type.fields)].map((field): [string, Field] => [field.path, field]))
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new StartError(`--set takes name=value, not "${pair}".`)
    const path = pair.slice(0, at)
    const field = fields.get(path)
    place(values, path.split('.'), isText(field) ? pair.slice(at + 1) : readValue(pair.slice(at + 1)))
  }
  return values
}

function isText(field: Field | undefined): boolean {
  return field?.kind === 'value' && !['integer', 'number', 'boolean', 'json'].includes(field.column)
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function place(
  target: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): void {
  if (['__proto__', 'constructor', 'prototype'].includes(name))
    throw new StartError(`--set cannot set ${name}.`)
  if (rest.length === 0) {
    target[name] = value
    return
  }
  const inner = target[name]
  const object = (typeof inner === 'object' && inner !== null ? inner : {}) as Record<string, unknown>
  target[name] = object
  place(object, rest, value)
}
