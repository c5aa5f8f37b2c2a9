/** A value that is there already, or one to wait for. */
export type Soon<T> = T | Promise<T>

/** Goes on at once if the value is there: waiting for a promise takes a tenth of the time of a read. */
export function whenThere<T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
