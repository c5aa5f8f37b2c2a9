/** A value, or the promise of one. */
export type Soon<T> = T | Promise<T>

/** Continues at once if the value is there: awaiting a promise takes a tenth of the time of a read. */
export function whenThere<T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
