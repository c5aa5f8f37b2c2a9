import type { InputType } from 'node:zlib'
import { budget } from '../budget.ts'
import { Failure } from '../errors.ts'

type Done = (error: Error | null, decoded: Buffer) => void
type Decode = (bytes: InputType, done: Done) => void

/** The content codings of a request body (RFC 9110, section 8.4.1). */
const CODINGS = ['gzip', 'deflate', 'br', 'zstd'] as const
type Coding = (typeof CODINGS)[number]

/** RFC 8878 asks a decoder for 8 MiB; a frame may ask for far more, and a stranger sends it. */
const ZSTD_WINDOW_LOG = 23

/** The coding that a header names, undefined for none. */
export function codingOf(header: string | null): Coding | undefined {
  if (header === null) return undefined
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return undefined
  const coding = name === 'x-gzip' ? 'gzip' : CODINGS.find((one) => one === name)
  if (coding !== undefined) return coding
  throw new Failure('unsupported_encoding', { headers: { 'Accept-Encoding': CODINGS.join(', ') } })
}

/** Stops as soon as more than a body may have comes out, however little went in. */
export async function decode(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  const run = await decoderOf(coding)
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  run(bytes, (error, decoded) => {
    if (error === null) resolve(decoded)
    else reject(failureOf(error, coding))
  })
  return promise
}

function failureOf(error: Error & { code?: string }, coding: Coding): Failure {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return new Failure('too_large')
  return new Failure('malformed_json', { cause: error, errors: new Map([['', [`is not valid ${coding}`]]]) })
}

/** Loaded with the first body that needs it. */
async function decoderOf(coding: Coding): Promise<Decode> {
  const zlib = await import('node:zlib')
  const most = { maxOutputLength: budget.bodyBytes }
  const decoders: Record<Coding, Decode> = {
    gzip: (bytes, done) => zlib.gunzip(bytes, most, done),
    deflate: (bytes, done) => zlib.inflate(bytes, most, done),
    br: (bytes, done) => zlib.brotliDecompress(bytes, most, done),
    zstd: (bytes, done) =>
      zlib.zstdDecompress(
        bytes,
        { ...most, params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } },
        done,
      ),
  }
  return decoders[coding]
}
