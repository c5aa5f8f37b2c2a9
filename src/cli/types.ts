import { basename } from 'node:path'
import { loadDefault, resolveFile } from '../app.ts'
import { readConfig } from '../config.ts'
import { isRecord } from '../declare/record.ts'
import { StartError } from '../errors.ts'
import type { Command } from './arguments.ts'
import { helpOption, storeOptions } from './options.ts'

export const typesCommand: Command = {
  name: 'types',
  usage: 'takeback types [--config FILE] > api.d.ts',
  summary: 'Prints the types of the declaration, for clients in other projects.',
  options: { config: storeOptions.config, ...helpOption },
  details:
    'A page uses them with takeback/client: connect<Api>(url). Only names and types are printed, no rules and no code.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback types does not take "${given.words[0]}": use --config FILE.`)
    const config = given.text('config')
    const { file } = readConfig(config === undefined ? {} : { config }, process.env)
    const declaration = await loadDefault(file, 'name another file with --config')
    resolveFile(file, declaration)
    console.log(declaredTypes(declaration, basename(file)))
  },
}

/** Returns what TypeScript must know of a declaration, as a file of types that `declare/infer.ts` reads. */
export function declaredTypes(declaration: unknown, name: string): string {
  const { entities, routes } = recordOf(declaration)
  const api = { entities: mapped(entities, entityShape), routes: mapped(routes, routeShape) }
  return `// Made from ${name} by "takeback types", for connect<Api>() of takeback/client. Run it again when that changes.
export interface Api ${printed(api)}`
}

type Shape = Record<string, unknown>

function recordOf(value: unknown): Shape {
  return isRecord(value) ? { ...value } : {}
}

function mapped(value: unknown, shape: (one: Shape) => Shape): Shape {
  return Object.fromEntries(
    Object.entries(recordOf(value)).map(([name, one]) => [name, shape(recordOf(one))]),
  )
}

function entityShape({ fields, login, set, computed }: Shape): Shape {
  const { create, update } = recordOf(set)
  const kept = { create: named(create), update: named(update) }
  return {
    fields: mapped(fields, fieldShape),
    ...(login !== undefined && { login: { userType: recordOf(login).userType } }),
    ...(set !== undefined && { set: kept }),
    ...(computed !== undefined && { computed: named(computed) }),
  }
}

function routeShape({ body }: Shape): Shape {
  return body === undefined ? {} : { body: fieldShape(recordOf(body)) }
}

/** Only the presence of a value matters: a default can be an expression, and rules are not made public. */
function fieldShape({
  type,
  values,
  target,
  as,
  optional,
  default: given,
  read,
  fields,
  items,
}: Shape): Shape {
  return {
    type,
    ...(values !== undefined && { values }),
    ...(target !== undefined && { target }),
    ...(as !== undefined && { as }),
    ...(optional === true && { optional }),
    ...(given !== undefined && { default: true }),
    ...(read !== undefined && { read: true }),
    ...(fields !== undefined && { fields: mapped(fields, fieldShape) }),
    ...(items !== undefined && { items: fieldShape(recordOf(items)) }),
  }
}

const named = (value: unknown): Shape => mapped(value, () => ({}))

/** Prints a value as a literal type. */
function printed(value: unknown, indent = ''): string {
  if (Array.isArray(value)) return `readonly [${value.map((one) => JSON.stringify(one)).join(', ')}]`
  if (!isRecord(value)) return JSON.stringify(value)
  const lines = Object.entries(value).map(([name, one]) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)
    return `${indent}  readonly ${key}: ${printed(one, `${indent}  `)}\n`
  })
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`
}
