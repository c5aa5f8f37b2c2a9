import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'
import { isJson } from './accept.ts'

/** The body as a JSON object, or a list where that is taken; every way in which it is none has its own answer. */
export async function readBody(request: Request, lists: boolean): Promise<object> {
  if (!isJson(request.headers.get('content-type'))) throw new Failure('unsupported_media_type')
  const bytes = await readBytes(request).catch((cause) => {
    // Cut off, or badly framed: whoever sent it, not we.
    throw cause instanceof Failure ? cause : new Failure('malformed_json', { cause })
  })
  if (tooDeep(bytes)) throw new Failure('too_deep')
  const value = parse(bytes)
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && !lists))
    throw new Failure('not_an_object')
  return value
}

/** Never holds more than the limit, whatever the request says about its length. */
async function readBytes(request: Request): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null) {
    if (Number(length) > budget.bodyBytes) throw new Failure('too_large')
    return request.bytes()
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > budget.bodyBytes) throw new Failure('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Without replacement characters, and without leave for a byte order mark, which is no JSON. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (cause) {
    throw new Failure('malformed_json', { cause })
  }
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d,
]

/** Looked at before parsing, so that no depth can cost anything. */
function tooDeep(bytes: Uint8Array): boolean {
  if (bytes.length <= budget.bodyDepth) return false
  let depth = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (inText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inText = false
    } else if (byte === QUOTE) inText = true
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (++depth > budget.bodyDepth) return true
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
  return false
}
