import { Fragment, type ReactNode } from 'react'
import { useModel } from '../model.ts'
import { type Texts, useTexts } from '../texts/index.ts'
import { Actor } from './actor.tsx'
import { EntityName } from './entity-name.tsx'
import { When } from './when.tsx'

/** Says in plain words why Entities cannot be taken back, with links to the actors and Entities involved. */
export function Conflicts({ errors }: { readonly errors: Readonly<Record<string, readonly string[]>> }) {
  return (
    <ul className="conflicts">
      {Object.entries(errors).map(([name, sentences]) => (
        <li key={name}>
          <Named name={name} />
          <ul>
            {sentences.map((sentence) => (
              <li key={sentence}>
                <Explained sentence={sentence} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}

/** Shows `bookings/7` by its name, and anything else as it is. */
export function Named({ name }: { readonly name: string }) {
  const { entities } = useModel()
  const [entity = '', id = ''] = name.split('/')
  if (!entities.some((type) => type.name === entity) || !/^\d+$/.test(id)) return <span>{name}</span>
  return <EntityName entity={entity} id={Number(id)} />
}

const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/

/** A way to resolve a conflict. */
export type Resolution = 'targets' | 'dependents'

/** Whether one of these conflicts can be resolved by taking back more. */
export function hasResolution(errors: Readonly<Record<string, readonly string[]>>, way: Resolution): boolean {
  const sign = way === 'targets' ? /^refers to .*, which is deleted$/ : /^is referred to by /
  return Object.values(errors).some((sentences) => sentences.some((one) => sign.test(one)))
}

/** Translates the sentences of the API. An unknown one is shown as it is. */
function Explained({ sentence }: { readonly sentence: string }) {
  const texts = useTexts()
  for (const [pattern, explain] of PATTERNS) {
    const found = pattern.exec(sentence)
    if (found !== null) return <>{explain(found, texts)}</>
  }
  return <>{sentence}</>
}

type Explain = (found: RegExpExecArray, texts: Texts) => ReactNode

const PATTERNS: readonly [RegExp, Explain][] = [
  [
    /^(?:(\S+) )?was changed since(?:, (by .*))?$/,
    ([, path, makers], { operations: { undo } }) => (
      <>
        {path === undefined ? undo.entityChanged : undo.changedSince(path)}
        <Makers text={makers} />
      </>
    ),
  ],
  [
    /^was (deleted|restored) since: (.*)$/,
    ([, verb, makers], { operations: { undo } }) => (
      <>
        {verb === 'deleted' ? undo.deletedSince : undo.restoredSince}
        <Makers text={makers} />
      </>
    ),
  ],
  [
    /^refers to (\S+)(?: in (\S+))?, which (is deleted|was purged)$/,
    ([, other = '', , state], { operations: { undo } }) => (
      <>
        {state === 'is deleted' ? undo.refersDeleted : undo.refersPurged} <Named name={other} />
      </>
    ),
  ],
  [
    /^is referred to by (\S+)(?: in (\S+))?$/,
    ([, other = ''], { operations: { undo } }) => (
      <>
        {undo.referredBy} <Named name={other} />
      </>
    ),
  ],
  [
    /^has a value(?: in (\S+))? that is taken by (\S+)$/,
    ([, path = '', other = ''], { operations: { undo } }) => (
      <>
        {undo.taken(path)} <Named name={other} />
      </>
    ),
  ],
  [/^was purged and cannot be restored$/, (_, { operations: { undo } }) => undo.purged],
  [/^is not yours to \w+$/, (_, { operations: { undo } }) => undo.forbidden],
  [
    /^has a value in (\S+) that you may not set$/,
    ([, path = ''], { operations: { undo } }) => undo.forbiddenValue(path),
  ],
  [/^is the account that makes this request$/, (_, { operations: { undo } }) => undo.own],
  [/^would break a check: (.*)$/, ([, says = ''], { operations: { undo } }) => undo.check(says)],
  [
    /^would have the same value(?: in (\S+))? as (\S+), which must be unique$/,
    ([, path = '', other = ''], { operations: { undo } }) => (
      <>
        {undo.clash(path)} <Named name={other} />
      </>
    ),
  ],
  [
    /^is of the type (\S+), which is no longer declared$/,
    ([, type = ''], { operations: { undo } }) => undo.undeclared(type),
  ],
]

/** Shows who made changes: `by users/3 at 2026-…, by …`. */
function Makers({ text }: { readonly text: string | undefined }) {
  const texts = useTexts()
  const makers = [...(text ?? '').matchAll(/by (\S+(?: as \S+)?) at (\S+Z)/g)]
  return makers.map(([all, actor = '', at = ''], index) => (
    <Fragment key={all}>
      {index === 0 ? ' ' : ', '}
      {texts.operations.undo.by} <Actor actor={actor === 'nobody' ? null : actor} />{' '}
      {TIME.test(at) && <When at={at} />}
    </Fragment>
  ))
}
