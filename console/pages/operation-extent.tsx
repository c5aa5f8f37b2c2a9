import { labelOf, useModel } from '../model.ts'
import { kindOf } from '../operations.ts'
import { Brief } from '../parts/brief.tsx'
import { ChangedValues } from '../parts/changed-values.tsx'
import { EntityName } from '../parts/entity-name.tsx'
import { useTexts } from '../texts/index.ts'
import type { Branch } from './operation-tree.ts'

const OPEN_DEPTH = 2

/** Shows the changes of an operation as a tree. */
export function Tree({
  branches,
  depth = 0,
}: {
  readonly branches: readonly Branch[]
  readonly depth?: number
}) {
  return (
    <ul className="tree">
      {branches.map((branch) => (
        <li key={`${branch.change.entity}/${branch.change.id}`}>
          <OneBranch branch={branch} depth={depth} />
        </li>
      ))}
    </ul>
  )
}

function OneBranch({ branch, depth }: { readonly branch: Branch; readonly depth: number }) {
  const texts = useTexts()
  const { branches } = branch
  return (
    <>
      <ChangeLine branch={branch} />
      {branches.length > 0 && (
        <details open={depth < OPEN_DEPTH}>
          <summary>{texts.operations.wentAlong(sizeOf(branches))}</summary>
          <Tree branches={branches} depth={depth + 1} />
        </details>
      )}
    </>
  )
}

function ChangeLine({ branch: { change, data } }: { readonly branch: Branch }) {
  const texts = useTexts()
  const { entities } = useModel()
  const type = entities.find(({ name }) => name === change.entity)
  const kind = kindOf(change.kind)
  const hasValues = kind === 'create' || kind === 'update'
  return (
    <div className={`change ${kind}`}>
      <span className={`badge ${TONES[kind]}`}>{texts.operations.kinds[kind]}</span>{' '}
      <EntityName entity={change.entity} id={change.id} isBeside />{' '}
      <span className="muted">{type === undefined ? change.entity : labelOf(type)}</span>
      {!hasValues && <Brief type={type} data={data} />}
      {(hasValues || change.changed === null) && kind !== 'migrate' && (
        <ChangedValues entity={change.entity} changed={change.changed} secrets={change.secrets} />
      )}
    </div>
  )
}

const TONES = { create: 'good', update: 'accent', delete: 'bad', restore: 'good', purge: 'bad', migrate: '' }

function sizeOf(branches: readonly Branch[]): number {
  return branches.reduce((sum, one) => sum + 1 + sizeOf(one.branches), 0)
}
