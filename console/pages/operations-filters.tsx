import { fromLocalInput, toLocalInput } from '../days.ts'
import { labelOf, useModel } from '../model.ts'
import { useParameter } from '../moment.ts'
import { KINDS, type Operation, type OperationFilter } from '../operations.ts'
import { Button } from '../parts/button.tsx'
import { useTexts } from '../texts/index.ts'
import { ActorFilter } from './operations-actor.tsx'

/** Returns the filters of the address. An undo by filter takes all of them except `kind`. */
export function useOperationFilter(): { filter: OperationFilter; kind: string | undefined } {
  const [actor] = useParameter('actor')
  const [since] = useParameter('since')
  const [until] = useParameter('until')
  const [entity] = useParameter('entity')
  const [run] = useParameter('run')
  const [kind] = useParameter('kind')
  const given = { actor, since, until, entity, run }
  const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { filter, kind }
}

export function OperationFilters({ known }: { readonly known: readonly Operation[] }) {
  const texts = useTexts()
  const { entities } = useModel()
  const [entity, setEntity] = useParameter('entity')
  const [kind, setKind] = useParameter('kind')
  const [run, setRun] = useParameter('run')
  const one = entity?.includes('/') ? entity : undefined
  return (
    <form
      className="filters"
      aria-label={texts.operations.filters}
      onSubmit={(event) => event.preventDefault()}
    >
      <ActorFilter known={known} />
      <label>
        <span>{texts.operations.filterType}</span>
        <select value={entity ?? ''} onChange={(event) => setEntity(event.target.value)}>
          <option value="">{texts.operations.any}</option>
          {one !== undefined && <option value={one}>{one}</option>}
          {entities.map((type) => (
            <option key={type.name} value={type.name}>
              {labelOf(type)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{texts.operations.filterKind}</span>
        <select value={kind ?? ''} onChange={(event) => setKind(event.target.value)}>
          <option value="">{texts.operations.any}</option>
          {KINDS.map((name) => (
            <option key={name} value={name}>
              {texts.operations.kinds[name]}
            </option>
          ))}
        </select>
      </label>
      <TimeFilter name="since" label={texts.operations.since} />
      <TimeFilter name="until" label={texts.operations.until} />
      {run !== undefined && (
        <Button icon="close" onClick={() => setRun(undefined)}>
          {texts.operations.run} {run}
        </Button>
      )}
    </form>
  )
}

function TimeFilter({ name, label }: { readonly name: 'since' | 'until'; readonly label: string }) {
  const [value, change] = useParameter(name)
  return (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        step="1"
        value={toLocalInput(value)}
        onChange={(event) => change(fromLocalInput(event.target.value))}
      />
    </label>
  )
}
