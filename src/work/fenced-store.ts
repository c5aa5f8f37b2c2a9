import type { StoreAct } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import type { Step } from '../store/step.ts'
import type { Store } from '../store/store.ts'

/** A step that finds a row while a lease is held, and locks that row until the transaction ends. */
export interface Fence {
  readonly step: Step
  readonly params: Params
  /** Makes the error to throw if the lease is lost. */
  lost(): Error
}

/**
 * The store for the holder of a lease. Each write first checks the lease, in its own transaction. So nothing is written
 * after another instance has taken over, however long this one was frozen.
 */
export function fencedStore(store: Store, { step, params: fence, lost }: Fence): Store {
  return {
    dialect: store.dialect,
    slow: store.slow,
    structure: store.structure,
    get others() {
      return store.others
    },
    serve: (generation) => store.serve(generation),
    keepSecret: (given) => store.keepSecret(given),
    secret: () => store.secret(),
    read: (statement, params) => store.read(statement, params),
    async write(steps, params, signal) {
      const outcome = await store.write([step, ...steps], { ...params, ...fence }, signal)
      if (!outcome.done && outcome.step === step.name) throw lost()
      return outcome
    },
    transact<T>(make: () => StoreAct<T>, signal?: AbortSignal) {
      const fenced = function* (): StoreAct<T> {
        const { rows } = yield { kind: 'read', statement: step.statement, params: { ...fence } }
        if (rows.length === 0) throw lost()
        return yield* make()
      }
      return store.transact(fenced, signal)
    },
    settled: (last) => store.settled(last),
    get recent() {
      return store.recent
    },
    onCommit: (heard) => store.onCommit(heard),
    scrub: () => store.scrub(),
    vacuum: () => store.vacuum(),
    ping: () => store.ping(),
    figures: () => store.figures(),
    close: () => store.close(),
  }
}
