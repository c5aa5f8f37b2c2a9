import { Link } from 'wouter'
import { kindOf } from '../operations.ts'
import { useTexts } from '../texts/index.ts'
import { Actor } from './actor.tsx'
import { OperationSentence } from './operation-sentence.tsx'
import type { Mark } from './time-bar-marks.ts'
import { When } from './when.tsx'

/** Says who changed what at a moment, with a link to the operation. */
export function MarkInWords({ mark }: { readonly mark: Mark }) {
  const texts = useTexts()
  return (
    <>
      <Actor actor={mark.actor} /> {mark.done !== undefined && <OperationSentence operation={mark.done} />}
      {mark.change !== undefined && <span>{texts.time.did[kindOf(mark.change.kind)]}</span>}{' '}
      <Link href={`/operations/${mark.operation}`}>
        <When at={mark.at} />
      </Link>
    </>
  )
}
