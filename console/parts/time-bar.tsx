import { lazy, Suspense, useMemo, useState } from 'react'
import { useEntityType } from '../model.ts'
import { useMoment } from '../moment.ts'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'
import { useKeys } from './keys.tsx'
import { useCommands } from './palette.tsx'
import type { TimeBarTarget } from './time-bar-marks.ts'

// Loaded when needed: most pages are viewed as they are now.
const TimePanel = lazy(() => import('./time-bar-panel.tsx'))

/**
 * Goes back in time, for any list or Entity: a button "Now", and a slider once it is opened. It sets the page's `?at=`,
 * with which the page reads the API. Put it into the `bar` of a page, where it takes its own line.
 */
export function TimeBar({ entity, id }: TimeBarTarget) {
  const texts = useTexts()
  const [at, setAt] = useMoment()
  const [isOpened, setOpened] = useState(false)
  /** Steps to take once the panel has loaded the changes. */
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
