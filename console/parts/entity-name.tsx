import { Link } from 'wouter'
import { useModel } from '../model.ts'
import { useName } from '../names.ts'

interface EntityNameProps {
  readonly entity: string
  readonly id: number | null
  /** Whether the type is shown beside it. */
  readonly isBeside?: boolean
}

/** An Entity's name, as a link to its page. It is isolated, so that its direction affects no other text. */
export function EntityName({ entity, id, isBeside = false }: EntityNameProps) {
  const { name, isDeleted } = useName(entity, id, { isBeside })
  const isKnown = useModel().entities.some((type) => type.name === entity)
  const shown = <bdi>{short(name)}</bdi>
  if (id === null || !isKnown) return <span className="entity-name">{shown}</span>
  return (
    <Link
      href={`/${entity}/${id}`}
      className={isDeleted ? 'entity-name deleted' : 'entity-name'}
      title={`${entity}/${id}`}
    >
      {shown}
    </Link>
  )
}

const MOST = 80

/** Shortens a name, which can have any length. */
export function short(text: string): string {
  const characters = [...text.slice(0, MOST * 4)]
  return characters.length > MOST ? `${characters.slice(0, MOST - 1).join('')}…` : text
}
