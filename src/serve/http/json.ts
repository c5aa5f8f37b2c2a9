import { budget } from '../../budget.ts'
import { type Errors, Failure, invalid } from '../../errors.ts'
import { inspectJson } from './json-inspect.ts'

/** Allows neither invalid bytes nor a byte order mark, which is no JSON. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses JSON in UTF-8. The depth is bounded before parsing, so that depth cannot cost anything. Duplicate keys are
 * refused: parsers disagree about which one counts, so a proxy may have checked the other one.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const keys = countKeysIn(bytes)
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch (cause) {
    throw malformed(notUtf8(bytes), cause)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw malformed(inspectJson(text).fault ?? 'is not valid JSON', cause)
  }
  // A parser keeps one of equal keys, so fewer are left than were sent.
  if (keys > 1 && countKeysOf(value) !== keys) throw invalid(duplicatesIn(text))
  return value
}

function malformed(sentence: string, cause: unknown): Failure {
  return new Failure('malformed_json', { cause, errors: new Map([['', [sentence]]]) })
}

function duplicatesIn(text: string): Errors {
  return new Map(inspectJson(text).duplicates.map((path) => [path, ['is given more than once']]))
}

/** Names the first byte that is not valid UTF-8. */
function notUtf8(bytes: Uint8Array): string {
  const again = new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const at = bytes.findIndex((byte, place) => byte !== again[place])
  return `is not valid UTF-8 at byte ${(at < 0 ? bytes.length : at) + 1}`
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COLON] = [
  0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d, 0x3a,
]

/** Counts the keys in a JSON text. Throws if it is nested too deeply. */
function countKeysIn(bytes: Uint8Array): number {
  let keys = 0
  let depth = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (inText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) inText = true
    else if (byte === COLON) keys++
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > budget.bodyDepth) throw new Failure('too_deep')
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return keys
}

/** Counts the keys of a parsed value. */
function countKeysOf(value: unknown): number {
  let keys = 0
  if (Array.isArray(value)) for (const item of value) keys += isObject(item) ? countKeysOf(item) : 0
  else if (isObject(value))
    // A parsed object enumerates only its own keys, including `__proto__`.
    for (const key in value) {
      const item = value[key]
      keys += isObject(item) ? 1 + countKeysOf(item) : 1
    }
  return keys
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
