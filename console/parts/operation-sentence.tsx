import { labelOf, useModel } from '../model.ts'
import { useName } from '../names.ts'
import {
  type Count,
  countsOf,
  kindOf,
  type Operation,
  type OperationChange,
  rootType,
  useRoot,
  useTakenBack,
} from '../operations.ts'
import { type Texts, useTexts } from '../texts/index.ts'
import { EntityName, short } from './entity-name.tsx'

interface SentenceProps {
  readonly operation: Operation
  /** False while it is out of view, so that names are not read. */
  readonly isEnabled?: boolean
  /** Whether the sentence stands alone, without the Actor before it. */
  readonly isStandalone?: boolean
}

/** Says what an operation did: "deleted Bo Berg and 12 more". */
export function OperationSentence({ operation, isEnabled = true, isStandalone = false }: SentenceProps) {
  const { before, root, after } = useSentence(operation, isEnabled)
  return (
    <span className={isStandalone ? 'sentence standalone' : 'sentence'}>
      {before}
      {root !== undefined && <EntityName entity={root.entity} id={root.id} isBeside={!isStandalone} />}
      {after}
    </span>
  )
}

/** The sentence as a text, for titles. */
export function useOperationTitle(operation: Operation): string {
  const texts = useTexts()
  const { before, root, after } = useSentence(operation, true)
  const { name } = useName(root?.entity ?? '', root?.id ?? null)
  const text = `${before}${root === undefined ? '' : short(name)}${after}`.slice(texts.operations.has.length)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

interface Sentence {
  readonly before: string
  readonly root?: OperationChange | undefined
  readonly after: string
}

/** An undo is described by what it takes back, if that is known. */
function useSentence(operation: Operation, isEnabled: boolean): Sentence {
  const { has, tookBack, didAgain, several } = useTexts().operations
  const back = useTakenBack(operation, isEnabled)
  const told = back?.operation ?? operation
  const isAgain = back?.isAgain ?? false
  const { before, root, after } = usePlainSentence(told, isEnabled)
  const count = told.undoes?.length ?? 0
  // The described operation is itself an undo.
  if (count > 1) return { before: `${has}${several(count, told !== operation && !isAgain)}`, after: '' }
  if (told === operation) return { before, root, after }
  const [opening, closing] = isAgain ? didAgain : tookBack
  return { before: `${has}${opening}${before.slice(has.length)}`, root, after: `${after}${closing}` }
}

function usePlainSentence(operation: Operation, isEnabled: boolean): Sentence {
  const texts = useTexts()
  const model = useModel()
  const root = useRoot(operation, isEnabled)
  const { has, verbs, andMore } = texts.operations
  if (root !== undefined) {
    const [before, after] = verbs[kindOf(root.kind)]
    const more = operation.changes > 1 ? andMore(operation.changes - 1) : ''
    return { before: `${has}${before}`, root, after: `${more}${after}` }
  }
  const label = (name: string) => {
    const type = model.entities.find((one) => one.name === name)
    return texts.operations.typeInSentence(type === undefined ? name : labelOf(type))
  }
  const counts = countsOf(operation)
  const pending = rootType(counts, model)
  if (pending === undefined) return { before: `${has}${clauses(counts, texts, label)}`, after: '' }
  const [before, after] = verbs[pending.kind]
  return { before: `${has}${before}${label(pending.entity)}…${after}`, after: '' }
}

const MOST_CLAUSES = 3

/** "changed 3 bookings, created 2 rooms and more" */
function clauses(counts: readonly Count[], texts: Texts, label: (entity: string) => string): string {
  const { verbs, counted, others } = texts.operations
  const told = counts.slice(0, MOST_CLAUSES).map(({ entity, kind, count }) => {
    const [before, after] = verbs[kind]
    return `${before}${kind === 'migrate' ? label(entity) : counted(count, label(entity))}${after}`
  })
  return told.join(', ') + (counts.length > MOST_CLAUSES ? others : '')
}
