import { ApiError, InvalidData, NetworkError } from './api.ts'
import { type EntityType, type Field, labelOf } from './model.ts'
import type { Texts } from './texts/index.ts'

/** Returns an error in words for people. */
export function explain(error: unknown, texts: Texts): string {
  if (error instanceof NetworkError) return texts.errors.offline
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  const whole = texts.errors.whole(error.code, error.message)
  const parts = listed(fieldErrors(error, texts))
  return error instanceof InvalidData ? parts || whole : [whole, parts].filter(Boolean).join(' ')
}

function listed(errors: Errors): string {
  return Object.entries(errors)
    .slice(0, 3)
    .map(([path, messages]) => `${path} ${messages.join(', ')}`.trim())
    .join('; ')
}

type Errors = Readonly<Record<string, readonly string[]>>

/** Returns the messages for fields, by dot path: translated by `texts`, with the labels of the fields of `type`. */
export function fieldErrors(error: unknown, texts?: Texts, type?: EntityType): Errors {
  const errors = error instanceof ApiError ? (error.errors ?? {}) : {}
  if (texts === undefined) return errors
  return Object.fromEntries(
    Object.entries(errors).map(([path, messages]) => [
      path,
      messages.map((message) => texts.errors.sentence(withOthers(message, path, type))),
    ]),
  )
}

/** For values that must be unique together, the API only mentions "others". This names them. */
function withOthers(message: string, path: string, type: EntityType | undefined): string {
  const own = path.replace(/\.id$/, '')
  const sets = type?.unique.map((set) => set.map((name) => name.replace(/\.id$/, ''))) ?? []
  const others = sets.filter((set) => set.includes(own))
  // The field is in several unique sets: it is not known which one is meant.
  if (others.length !== 1) return message
  const labels = others[0]?.filter((name) => name !== own).map((name) => labelAt(type, name)) ?? []
  return message.replace(/together with the other values?$/, () => `together with ${labels.join(', ')}`)
}

function labelAt(type: EntityType | undefined, path: string): string {
  let fields: readonly Field[] = type?.fields ?? []
  const labels = path.split('.').map((name) => {
    const field = fields.find((one) => one.name === name)
    fields = field?.fields ?? []
    return field === undefined ? name : labelOf(field)
  })
  return labels.join(' ')
}
