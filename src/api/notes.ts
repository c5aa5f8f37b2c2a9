import { budget } from '../budget.ts'
import { addError, type Errors, invalid } from '../errors.ts'
import type { Act, Effect, SingleRequest, StoreRequest } from '../store/act.ts'
import { read } from '../store/act.ts'
import type { Params } from '../store/dialect.ts'
import type { Outcome } from '../store/step.ts'
import type { Context } from './context.ts'

const RUN = 'Takeback-Run'
const REASON = 'Takeback-Reason'

/** The run that a write belongs to, and its reason. */
export interface Note {
  readonly run: string | null
  readonly reason: string | null
}

/** Reads the headers; `null` if there is neither. */
export function parseNote(run: string | null, reason: string | null): Note | null {
  if (run === null && reason === null) return null
  const errors: Errors = new Map()
  if (run !== null && !isRun(run))
    addError(errors, RUN, `must have 1 to ${budget.runCharacters} visible ASCII characters`)
  const decoded = reason === null ? null : decode(reason)
  if (decoded === undefined)
    addError(errors, REASON, `must be 1 to ${budget.reasonCharacters} characters, as percent-encoded UTF-8`)
  if (errors.size > 0) throw invalid(errors)
  return { run, reason: decoded ?? null }
}

export function isRun(text: string): boolean {
  return text.length <= budget.runCharacters && /^[\x21-\x7e]+$/.test(text)
}

/** Refuses control characters except tabs and line ends, since a reason is shown on terminals. */
function decode(text: string): string | undefined {
  if (!/^[\x20-\x7e]+$/.test(text)) return undefined
  try {
    const decoded = decodeURIComponent(text)
    const characters = [...decoded].length
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are looked for.
    return characters > budget.reasonCharacters || /[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(decoded)
      ? undefined
      : decoded
  } catch {
    return undefined
  }
}

/** Adds a note to the operations of an act, in the transaction of the first change of each. */
export function annotated<T>(context: Context, note: Note | null, act: Act<T>): Act<T> {
  return note === null ? act : annotate(context, note, act)
}

function* annotate<T>(context: Context, note: Note, act: Act<T>): Act<T> {
  const known = new Set<unknown>()
  let next = act.next()
  while (!next.done) {
    const { request, noted } = withNote(context, note, next.value, known)
    const outcome: Outcome = yield request
    if (noted !== undefined && (outcome.done || request.kind === 'together')) known.add(noted)
    next = act.next(outcome)
  }
  return next.value
}

/**
 * Adds the note to a request to the Store, and returns its operation. Of requests sent together, the first gets it: all
 * are done, or none.
 */
function withNote(
  context: Context,
  note: Note,
  request: StoreRequest | Effect,
  known: ReadonlySet<unknown>,
): { request: StoreRequest | Effect; noted?: unknown } {
  if (request.kind === 'write') {
    const operation = request.params.$operation
    return operation === undefined || known.has(operation)
      ? { request }
      : { request: noteFirst(context, note, request), noted: operation }
  }
  if (request.kind !== 'together') return { request }
  const at = request.requests.findIndex(
    ({ kind, params }) => kind === 'write' && params.$operation !== undefined,
  )
  const first = request.requests[at]
  if (first?.kind !== 'write' || known.has(first.params.$operation)) return { request }
  const requests = request.requests.with(at, noteFirst(context, note, first))
  return { request: { ...request, requests }, noted: first.params.$operation }
}

function noteFirst(
  { notes }: Context,
  { run, reason }: Note,
  { steps, params, ...request }: Extract<SingleRequest, { kind: 'write' }>,
): SingleRequest {
  return { ...request, steps: [notes.take, ...steps], params: { ...params, $run: run, $reason: reason } }
}

/** The parameters of `undo`: the operations that are taken back. */
export function undoneParams(operations: Iterable<string>): Params {
  return { $taken: JSON.stringify([...new Set(operations)].map((operation) => [operation])) }
}

/** What the notes say about an operation. */
export interface OperationNotes {
  run?: string
  reason?: string
  undoes?: string[]
  undone_by?: string[]
}

/** Reads the notes, by operation. */
export function* notesOf(
  { notes }: Context,
  operations: readonly unknown[],
): Act<ReadonlyMap<string, OperationNotes>> {
  const byOperation = new Map<string, OperationNotes>()
  if (operations.length === 0) return byOperation
  const of = (operation: unknown): OperationNotes => {
    const known = byOperation.get(String(operation)) ?? {}
    byOperation.set(String(operation), known)
    return known
  }
  const params = { $operations: JSON.stringify(operations) }
  for (const [operation, run, reason] of yield* read(notes.of, params)) {
    if (run != null) of(operation).run = String(run)
    if (reason != null) of(operation).reason = String(reason)
  }
  for (const [operation, by] of yield* read(notes.undone, params)) {
    push(of(operation), 'undone_by', by)
    push(of(by), 'undoes', operation)
  }
  return byOperation
}

function push(notes: OperationNotes, name: 'undoes' | 'undone_by', operation: unknown): void {
  const known = notes[name] ?? []
  if (known.length < budget.namedChanges) known.push(String(operation))
  notes[name] = known
}
