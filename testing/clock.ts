const Real = Date
let shift = 0

/** The wall clock of this process with an offset. It keeps running; `performance.now()` is not affected. */
class Shifted extends Real {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(Real.now() + shift)
    else super(...(given as [number]))
  }
  static override now(): number {
    return Real.now() + shift
  }
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Real
  }
}

/** Sets the clock of this process, in milliseconds since 1970. */
export function setClock(time: number): void {
  shiftClock(time - Real.now())
}

/** Sets the offset of the clock. */
export function shiftClock(ms: number): void {
  shift = ms
  globalThis.Date = ms === 0 ? Real : (Shifted as unknown as DateConstructor)
}

/** Resets the clock to the real time. */
export function rightClock(): void {
  shiftClock(0)
}
