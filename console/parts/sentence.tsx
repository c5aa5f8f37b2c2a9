import { Fragment } from 'react'
import { useModel } from '../model.ts'
import { EntityName } from './entity-name.tsx'

const ENTITY = /\b([A-Za-z]\w*\/\d+)\b/

/** A sentence of the API, with Entities shown by name, as links. */
export function Sentence({ text }: { readonly text: string }) {
  const { entities } = useModel()
  return text.split(ENTITY).map((part, at) => {
    const [entity = '', id = ''] = part.split('/')
    const isEntity = at % 2 === 1 && entities.some(({ name }) => name === entity)
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence never move.
    return <Fragment key={at}>{isEntity ? <EntityName entity={entity} id={Number(id)} /> : part}</Fragment>
  })
}
