import { lazy, Suspense, useMemo, useState } from 'react'
import { useEntityType } from '../model.ts'
import { useMoment } from '../moment.ts'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'
import { useKeys } from './keys.tsx'
import { useCommands } from './palette.tsx'
import type { Looked } from './time-bar-marks.ts'

// Most pages are looked at as they are now.
const TimePanel = lazy(() => import('./time-bar-panel.tsx'))

/**
 * Goes back in time, for any list or Entity: a button that says "Now", and a slider once it is opened. It sets `?at=` of
 * the page, with which the page reads the API. It belongs into the `bar` of a page, where it takes a line of its own.
 */
export function TimeBar({ entity, id }: Looked) {
  const texts = useTexts()
  const [at, setAt] = useMoment()
  const [isOpened, setOpened] = useState(false)
  /** Steps that are still to be taken, once the panel knows where to. */
  const [steps, setSteps] = useState(0)
  const mayLook = useEntityType(entity)?.may.history !== false
  const isOpen = isOpened || at !== undefined
  const open = (by = 0) => {
    setOpened(true)
    setSteps((before) => before + by)
  }
  useKeys({ '[': () => open(-1), ']': () => (isOpen ? open(1) : false) }, mayLook)
  const commands = useMemo(
    () =>
      mayLook
        ? [
            {
              id: 'go back in time',
              title: texts.time.goBack,
              group: texts.nav.time,
              icon: 'clock' as const,
              keys: '[',
              run: () => setOpened(true),
            },
          ]
        : [],
    [mayLook, texts],
  )
  useCommands(commands)
  if (!mayLook) return null
  const close = () => {
    setOpened(false)
    setSteps(0)
    setAt(undefined)
  }
  return (
    <>
      <Button
        icon="clock"
        tone="plain"
        className={at === undefined ? 'time-now' : 'time-then'}
        aria-expanded={isOpen}
        title={texts.time.open}
        onClick={() => (isOpen ? close() : open())}
      >
        {texts.time.look}
      </Button>
      {isOpen && (
        <Suspense fallback={null}>
          <TimePanel
            looked={id === undefined ? { entity } : { entity, id }}
            steps={steps}
            stepped={() => setSteps(0)}
            close={close}
          />
        </Suspense>
      )}
    </>
  )
}
