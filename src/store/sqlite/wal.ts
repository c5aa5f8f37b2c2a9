// Reads a write-ahead log without SQLite: https://sqlite.org/fileformat2.html#walformat

/** The place where a log breaks off, although more of it was once on disk. */
export interface Break {
  /** The first byte that cannot be trusted. */
  readonly offset: number
  /** Commits after it that are still visible. There may have been more. */
  readonly commits: number
}

/** Reads so many bytes from an offset; fewer at the end. */
export type ReadBytes = (offset: number, length: number) => Uint8Array

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC = 0x377f0682
const VERSION = 3_007_000
const CHUNK_BYTES = 4 * 1024 * 1024

/** Two checksums over pairs of words. */
interface Sums {
  a: number
  b: number
}

interface Header {
  readonly valid: boolean
  readonly bigEndian: boolean
  readonly pageSize: number
  readonly salts: Salts
  readonly sums: Sums
}

interface Salts {
  readonly one: number
  readonly two: number
}

interface Frame {
  readonly page: number
  readonly commits: boolean
  readonly salts: Salts
  readonly sums: Sums
  /** The checksums it should have, after those of the frame before. */
  after(before: Sums): Sums
}

/**
 * Finds damage. A log that simply ends is intact: a power cut may leave any part of the last transaction, which nobody
 * was told of. But SQLite syncs a commit before it writes the next frame, and the header before the first one. So a
 * commit with another frame linked to it was on disk, with everything before it. Frames are linked by their checksums.
 */
export function findBreak(read: ReadBytes, pageSizeOfFile: number): Break | undefined {
  const header = headerOf(read(0, HEADER_BYTES))
  if (header === undefined) return undefined
  if (!header.valid) return findOrphans(read, pageSizeOfFile)
  return follow(framesOf(read, header.pageSize, header.bigEndian), header)
}

function follow(
  frames: Iterable<readonly [offset: number, frame: Frame]>,
  header: Header,
): Break | undefined {
  let before: Frame | undefined
  let broken: number | undefined
  let [commits, proven] = [0, false]
  for (const [offset, frame] of frames) {
    const ours = frame.page !== 0 && isSameSalts(frame.salts, header.salts)
    const linked = ours && isSum(frame.after(before?.sums ?? header.sums), frame.sums)
    if (!linked) broken ??= offset
    if (broken !== undefined && ours) {
      if (linked && before?.commits && offset > broken) proven = true
      if (frame.commits) commits++
    }
    // A frame of an earlier log proves nothing for the next one.
    before = ours ? frame : { ...frame, commits: false }
  }
  return broken !== undefined && proven ? { offset: broken, commits } : undefined
}

/** For an unreadable header: frames that are linked to each other were written after a readable one. */
function findOrphans(read: ReadBytes, pageSize: number): Break | undefined {
  let before: Frame | undefined
  let [commits, linked] = [0, false]
  for (const [, frame] of framesOf(read, pageSize, false)) {
    if (frame.page !== 0 && before !== undefined && isSameSalts(frame.salts, before.salts))
      linked ||= isSum(frame.after(before.sums), frame.sums)
    if (frame.page !== 0 && frame.commits) commits++
    before = frame
  }
  return linked ? { offset: 0, commits } : undefined
}

/** The header; undefined if there is none yet. */
function headerOf(bytes: Uint8Array): Header | undefined {
  if (bytes.length < HEADER_BYTES || bytes.every((byte) => byte === 0)) return undefined
  const view = viewOf(bytes)
  const magic = view.getUint32(0)
  const bigEndian = magic === MAGIC + 1
  const pageSize = view.getUint32(8)
  const sums = { a: view.getUint32(24), b: view.getUint32(28) }
  const isPage = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0
  const known = (magic === MAGIC || bigEndian) && view.getUint32(4) === VERSION && isPage
  return {
    valid: known && isSum(sum({ view, offset: 0, length: 24, bigEndian }, { a: 0, b: 0 }), sums),
    bigEndian,
    pageSize,
    salts: { one: view.getUint32(16), two: view.getUint32(20) },
    sums,
  }
}

function* framesOf(
  read: ReadBytes,
  pageSize: number,
  bigEndian: boolean,
): Generator<readonly [offset: number, frame: Frame]> {
  const frameBytes = FRAME_HEADER_BYTES + pageSize
  const length = Math.max(1, Math.floor(CHUNK_BYTES / frameBytes)) * frameBytes
  for (let offset = HEADER_BYTES; ; offset += length) {
    const bytes = read(offset, length)
    const view = viewOf(bytes)
    for (let at = 0; at + frameBytes <= bytes.length; at += frameBytes)
      yield [offset + at, frameOf(view, at, pageSize, bigEndian)]
    if (bytes.length < length) return
  }
}

function frameOf(view: DataView, at: number, pageSize: number, bigEndian: boolean): Frame {
  return {
    page: view.getUint32(at),
    commits: view.getUint32(at + 4) !== 0,
    salts: { one: view.getUint32(at + 8), two: view.getUint32(at + 12) },
    sums: { a: view.getUint32(at + 16), b: view.getUint32(at + 20) },
    after(before) {
      const head = sum({ view, offset: at, length: 8, bigEndian }, before)
      return sum({ view, offset: at + FRAME_HEADER_BYTES, length: pageSize, bigEndian }, head)
    },
  }
}

/** The words of a log, in its byte order. */
interface Words {
  readonly view: DataView
  readonly offset: number
  readonly length: number
  readonly bigEndian: boolean
}

function sum({ view, offset, length, bigEndian }: Words, from: Sums): Sums {
  let a = from.a | 0
  let b = from.b | 0
  for (let at = offset; at < offset + length; at += 8) {
    a = (a + view.getInt32(at, !bigEndian) + b) | 0
    b = (b + view.getInt32(at + 4, !bigEndian) + a) | 0
  }
  return { a: a >>> 0, b: b >>> 0 }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function isSameSalts(one: Salts, other: Salts): boolean {
  return one.one === other.one && one.two === other.two
}

function isSum(one: Sums, other: Sums): boolean {
  return one.a === other.a && one.b === other.b
}
