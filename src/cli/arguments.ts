import { parseArgs } from 'node:util'
import { closest } from '../declare/closest.ts'
import { StartError } from '../errors.ts'

export interface Option {
  readonly value: string | undefined
  readonly many?: boolean
  readonly help: string
}

/** A command, as its help shows it. */
export interface Command<
  Options extends Readonly<Record<string, Option>> = Readonly<Record<string, Option>>,
> {
  readonly name: string
  readonly usage: string
  readonly summary: string
  readonly details?: string
  readonly options: Options
  run(given: GivenArguments): Promise<void>
}

export interface GivenArguments {
  readonly words: readonly string[]
  text(option: string): string | undefined
  texts(option: string): readonly string[]
}

/** Refuses unknown flags, and suggests the one that was probably meant. */
export function parseCommand(command: Command, args: readonly string[]): GivenArguments {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value, many }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: many === true },
    ]),
  )
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const words: string[] = []
  const texts = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(command.options, token.name) ? command.options[token.name] : undefined
    if (option === undefined) throw new StartError(unknownFlag(command, token.rawName, token.name))
    // An empty value comes from a variable of a script that is not set.
    const isMissing = !token.value || (!token.inlineValue && token.value.startsWith('--'))
    if (option.value !== undefined && isMissing)
      throw new StartError(`--${token.name} needs a value: --${token.name} ${option.value}.`)
    if (option.value === undefined && token.value !== undefined)
      throw new StartError(`--${token.name} takes no value.`)
    const known = texts.get(token.name) ?? []
    if (known.length > 0 && !option.many) throw new StartError(`--${token.name} is given more than once.`)
    texts.set(token.name, [...known, token.value ?? ''])
  }
  return { words, text: (name) => texts.get(name)?.[0], texts: (name) => texts.get(name) ?? [] }
}

function unknownFlag(command: Command, raw: string, name: string): string {
  const guess = closest(name, Object.keys(command.options))
  const advice =
    guess === undefined ? `"takeback ${command.name} --help" lists its flags` : `did you mean --${guess}?`
  return `takeback ${command.name} does not know ${raw}: ${advice}`
}

export function helpOf({ usage, summary, details, options }: Command): string {
  const rows = Object.entries(options).map(
    ([name, { value, help }]) => [`--${name}${value === undefined ? '' : ` ${value}`}`, help] as const,
  )
  const width = Math.max(...rows.map(([left]) => left.length))
  return [
    `${summary}\n`,
    `  ${usage}\n`,
    ...rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`),
    ...(details === undefined ? [] : [`\n${details}`]),
  ].join('\n')
}
