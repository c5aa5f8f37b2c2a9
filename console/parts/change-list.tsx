import { kindOf } from '../operations.ts'
import { useTexts } from '../texts/index.ts'
import { ChangedValues } from './changed-values.tsx'
import { EntityName } from './entity-name.tsx'

/** What a write would do to one Entity. */
export interface PlannedChange {
  readonly entity: string
  readonly id: number | null
  readonly kind: string
  readonly changed?: Parameters<typeof ChangedValues>[0]['changed'] | null
}

const TONES = { update: 'warn', delete: 'bad', restore: 'good' } as const

/** The changes that a write would make, each with its Entity. */
export function ChangeList({ changes }: { readonly changes: readonly PlannedChange[] }) {
  const { kinds } = useTexts().list.bulk
  return (
    <ul className="change-list">
      {changes.map(({ entity, id, kind, changed }) => (
        <li key={`${entity}/${id}`}>
          <span className={`badge ${TONES[countable(kind)]}`}>{kinds[countable(kind)]}</span>{' '}
          <EntityName entity={entity} id={id} />
          {kind === 'update' && changed && <ChangedValues entity={entity} changed={changed} most={4} />}
        </li>
      ))}
    </ul>
  )
}

export function countable(kind: string): 'update' | 'delete' | 'restore' {
  const known = kindOf(kind)
  return known === 'delete' || known === 'restore' ? known : 'update'
}
