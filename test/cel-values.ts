/** Texts that careless code compares, counts or quotes wrongly. */
export const TEXTS = [
  '',
  ' ',
  'a',
  'A',
  'b',
  'B',
  'ab',
  'aB',
  'abc',
  'a%',
  'a_',
  '%',
  '_',
  "'",
  "''",
  '"',
  '\\',
  "\\' OR 1=1 --",
  '$1',
  '?1',
  '1',
  '01',
  '1.0',
  'null',
  'true',
  'Ä',
  'ä',
  'A\u0308',
  'ß',
  'SS',
  'İ',
  'K',
  '\u212a',
  '\u007f',
  '\u0001',
  'a\nb',
  '\n',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\ufffd',
  '\u{10000}',
  '\u{10ffff}',
  '😀',
  '😀a',
  'a😀',
  '👩‍👩‍👧',
  '2026-01-01',
]
export const INTEGERS = [-9007199254740991, -2147483649, -2, -1, 0, 1, 2, 3, 4294967296, 9007199254740991]
export const NUMBERS = [
  -4503599627370495.5,
  -9007199254740991,
  -1.5,
  -5e-324,
  0,
  5e-324,
  2.2250738585072014e-308,
  1e-7,
  0.1,
  0.30000000000000004,
  1 / 3,
  1,
  1.5,
  2,
  9007199254740991,
  4503599627370495.5,
]
export const DECIMALS: Readonly<Record<number, readonly string[]>> = {
  0: ['-999999999999999999', '-2', '-1', '0', '1', '2', '9007199254740993', '999999999999999999'],
  2: ['-9999999999999999.99', '-1.50', '-0.01', '0', '0.01', '1.49', '1.50', '2.00', '9999999999999999.99'],
  9: [
    '-999999999.999999999',
    '-0.000000001',
    '0.000000000',
    '0.000000001',
    '0.1',
    '1.5',
    '999999999.999999999',
  ],
}
export const DAYS = ['0001-01-01', '1969-12-31', '1970-01-01', '2024-02-29', '2026-01-01', '9999-12-31']
export const TIMES = [
  '0001-01-01T00:00:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '1970-01-01T00:00:00.000Z',
  '1850-06-01T23:30:00.000Z',
  '1916-05-14T23:59:59.999Z',
  '2024-02-29T12:00:00.001Z',
  '2026-01-01T00:00:00.000Z',
  '2026-01-01T01:00:00.000Z',
  '2026-03-29T00:59:59.999Z',
  '2026-03-29T01:00:00.000Z',
  '2026-11-01T06:30:00.000Z',
  '2077-07-04T22:15:00.000Z',
  '9999-12-31T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
]

/** A random generator with a fixed seed (mulberry32), so that every run has the same values. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count
  }

  one<Of>(from: readonly Of[]): Of {
    return from[this.below(from.length)] as Of
  }

  /** Returns null every third time. */
  maybe<Of>(make: () => Of): Of | null {
    return this.below(3) === 0 ? null : make()
  }

  some<Of>(make: () => Of): Of[] {
    return Array.from({ length: this.below(4) }, make)
  }
}
