/** Integers are bigints, numbers are doubles, decimals have their digits and a scale. */
export type Numeric = bigint | number | Decimal

export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

const SAFE = 2n ** 53n - 1n
const DIGITS = 10n ** 18n - 1n

export function isDecimal(value: Numeric): value is Decimal {
  return typeof value === 'object'
}

/** Returns a number as the decimal that JSON shows. */
export function exact(value: Numeric): Decimal {
  if (isDecimal(value)) return value
  const [, whole = '', fraction = '', exponent = '0'] =
    /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  const scale = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

function lifted({ digits, scale }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - scale)
}

/** Makes a decimal with this scale; null if it has too many digits. */
function decimal(digits: bigint, scale: number): Decimal | null {
  return digits > DIGITS || digits < -DIGITS ? null : { digits, scale }
}

function halfAway(a: bigint, b: bigint): bigint {
  const size = (value: bigint) => (value < 0n ? -value : value)
  const rounded = (size(a) * 2n + size(b)) / (size(b) * 2n)
  return a < 0n === b < 0n ? rounded : -rounded
}

/** Returns the result of an operator; null if there is none. */
export function calculate(how: string, a: Numeric, b: Numeric): Numeric | null {
  if (isDecimal(a) || isDecimal(b)) return calculateDecimals(how, exact(a), exact(b))
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    const result = calculateBigints(how, a, b)
    return result === null || result > SAFE || result < -SAFE ? null : result
  }
  const [x, y] = [boundNumber(Number(a)) ?? 0, boundNumber(Number(b)) ?? 0]
  if (how === '/' && y === 0) return null
  return boundNumber({ '+': x + y, '-': x - y, '*': x * y, '/': x / y }[how] ?? Number.NaN)
}

function boundNumber(value: number): number | null {
  if (Math.abs(value) < 1e-150) return 0
  return Math.abs(value) <= 1e150 ? value : null
}

function calculateBigints(how: string, a: bigint, b: bigint): bigint | null {
  if ((how === '/' || how === '%') && b === 0n) return null
  switch (how) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    default:
      return a % b
  }
}

function calculateDecimals(how: string, a: Decimal, b: Decimal): Decimal | null {
  if (how === '*') return decimal(a.digits * b.digits, a.scale + b.scale)
  if (how === '/') {
    if (b.digits === 0n) return null
    const scale = Math.min(9, a.scale + 4)
    return decimal(
      halfAway(a.digits * 10n ** BigInt(scale + b.scale), b.digits * 10n ** BigInt(a.scale)),
      scale,
    )
  }
  const scale = Math.max(a.scale, b.scale)
  const result = calculateBigints(how, lifted(a, scale), lifted(b, scale))
  return result === null ? null : decimal(result, scale)
}

export function orderNumbers(a: Numeric, b: Numeric): number {
  if (!isDecimal(a) && !isDecimal(b)) return a < b ? -1 : a > b ? 1 : 0
  const [x, y] = [exact(a), exact(b)]
  const scale = Math.max(x.scale, y.scale)
  const [left, right] = [lifted(x, scale), lifted(y, scale)]
  return left < right ? -1 : left > right ? 1 : 0
}

export function negate(value: Numeric): Numeric {
  if (isDecimal(value)) return { digits: -value.digits, scale: value.scale }
  return typeof value === 'bigint' ? -value : value === 0 ? 0 : -value
}

export function absolute(value: Numeric): Numeric {
  return orderNumbers(value, 0n) < 0 ? negate(value) : value
}

export function roundTo(value: Numeric, places: number | undefined): Numeric | null {
  if (typeof value === 'bigint' && places === undefined) return value
  const { digits, scale } = exact(value)
  const to = places ?? 0
  const result =
    to >= scale ? digits * 10n ** BigInt(to - scale) : halfAway(digits, 10n ** BigInt(scale - to))
  if (typeof value === 'number' && places === undefined)
    return result > SAFE || result < -SAFE ? null : result
  return decimal(result, to)
}

/** Converts all to one kind, then returns the least or the greatest. */
export function extreme(op: 'min' | 'max', all: readonly Numeric[]): Numeric | null {
  const scale = Math.max(...all.map((one) => exact(one).scale))
  const alike: readonly (Numeric | null)[] = all.some(isDecimal)
    ? all.map((one) => decimal(lifted(exact(one), scale), scale))
    : all
  if (alike.includes(null)) return null
  const sign = op === 'min' ? 1 : -1
  return (alike as readonly Numeric[]).toSorted((a, b) => sign * orderNumbers(a, b))[0] ?? null
}
