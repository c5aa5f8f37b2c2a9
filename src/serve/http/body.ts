import { budget } from '../../budget.ts'
import { Failure } from '../../errors.ts'
import { isJson } from './accept.ts'
import { parseJson } from './json.ts'

/**
 * Reads the body as a JSON object, or as a list if that is allowed. Each way to fail has its own answer. A missing
 * optional body is an empty object.
 */
export async function readBody(request: Request, taken: 'object' | 'any' | 'optional'): Promise<object> {
  if (taken === 'optional' && isLeftOut(request.headers)) return {}
  if (!isJson(request.headers.get('content-type'))) throw new Failure('unsupported_media_type')
  refuseCompressed(request.headers.get('content-encoding'))
  const bytes = await readBytes(request).catch((cause) => {
    // The body was cut off or badly framed: that is the sender's fault, not ours.
    throw cause instanceof Failure ? cause : new Failure('malformed_json', { cause })
  })
  if (taken === 'optional' && bytes.length === 0) return {}
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && taken !== 'any'))
    throw new Failure('not_an_object')
  return value
}

/** The body as a stream of any content, up to the limit. */
export function bodyStream(request: Request, limit: number): ReadableStream<Uint8Array> {
  refuseCompressed(request.headers.get('content-encoding'))
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new Failure('too_large')
  let size = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (size > limit) controller.error(new Failure('too_large'))
      else controller.enqueue(chunk)
    },
  })
  return (request.body ?? new Blob([]).stream()).pipeThrough(counted)
}

/** Whether there is no body: without either header there is none (RFC 9112, section 6.3). */
function isLeftOut(headers: Headers): boolean {
  const length = headers.get('content-length')
  return !headers.has('transfer-encoding') && (length === null || length === '0')
}

/**
 * Never holds more than the limit, whatever length the request claims. A length is believed only if it is one plain
 * number: Bun joins two headers with the same length to `5, 5`.
 */
async function readBytes(request: Request): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null && /^[0-9]+$/.test(length)) {
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

function refuseCompressed(coding: string | null): void {
  if (coding === null || ['', 'identity'].includes(coding.trim().toLowerCase())) return
  throw new Failure('unsupported_encoding', { headers: { 'Accept-Encoding': 'identity' } })
}
