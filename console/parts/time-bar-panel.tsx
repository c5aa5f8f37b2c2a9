import { type KeyboardEvent, useEffect, useMemo, useState } from 'react'
import { formatSecond, fromLocalInput, toLocalInput } from '../days.ts'
import { formatExactTime, formatTime } from '../format.ts'
import { useModel } from '../model.ts'
import { useMoment } from '../moment.ts'
import { useTexts } from '../texts/index.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { Compare } from './time-bar-compare.tsx'
import type { TimeBarTarget } from './time-bar-marks.ts'
import { countUntil, type Mark, momentOf, useFloor, useMarks } from './time-bar-marks.ts'
import { PLACES, scaleOf } from './time-bar-scale.ts'
import { MarkInWords } from './time-bar-words.tsx'

interface TimePanelProps {
  readonly looked: TimeBarTarget
  /** How many changes to go back (negative) or forward. */
  readonly steps: number
  stepped(): void
  close(): void
}

const HOUR_MS = 3_600_000
const AGO = [
  ['hour', HOUR_MS],
  ['day', 24 * HOUR_MS],
] as const

/** The slider over the known past, and buttons to move on it. */
export default function TimePanel({ looked, steps, stepped, close }: TimePanelProps) {
  const texts = useTexts()
  const [at, setAt] = useMoment()
  const { marks, query } = useMarks(looked)
  const floor = useFloor(looked.entity)
  const [isComparing, setComparing] = useState(false)
  const count = countUntil(marks, at)
  const step = (by: number) => {
    const next = Math.max(0, Math.min(count + by, marks.length))
    if (count + by < 0 && query.hasNextPage && !query.isFetching) void query.fetchNextPage()
    const moment = momentOf(marks, next)
    const isTooOld = moment !== undefined && floor !== undefined && Date.parse(moment) < floor
    setAt(isTooOld ? new Date(floor + 1000).toISOString() : moment)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: taken once, as soon as it is known where they lead.
  useEffect(() => {
    if (steps === 0 || query.data === undefined) return
    step(steps)
    stepped()
  }, [steps, query.data])
  const play = usePlay(count, marks, setAt)
  const isTooOld = at !== undefined && floor !== undefined && Date.parse(at) < floor
  return (
    <section className={at === undefined ? 'time-panel' : 'time-panel then'} aria-label={texts.time.title}>
      <Slider marks={marks} at={at} setAt={setAt} step={step} floor={floor} />
      <Where at={at} mark={at === undefined ? undefined : marks[count - 1]} isEmpty={marks.length === 0} />
      <div className="time-controls">
        <Button
          icon="left"
          aria-label={texts.time.previous}
          onClick={() => step(-1)}
          disabled={count === 0}
        />
        <Button
          icon={play.isPlaying ? 'pause' : 'play'}
          aria-label={play.isPlaying ? texts.time.pause : texts.time.play}
          disabled={marks.length === 0}
          onClick={play.toggle}
        />
        <Button
          icon="right"
          aria-label={texts.time.next}
          onClick={() => step(1)}
          disabled={at === undefined}
        />
        {AGO.map(([name, ms]) => (
          <Button key={name} onClick={() => setAt(new Date(Date.now() - ms).toISOString())}>
            {texts.time.ago[name]}
          </Button>
        ))}
        <Typed at={at} setAt={setAt} />
        <Button
          aria-pressed={isComparing}
          disabled={at === undefined}
          onClick={() => setComparing(!isComparing)}
        >
          {texts.time.compare}
        </Button>
        <Button icon="close" {...(at !== undefined && { tone: 'main' })} onClick={close}>
          {at === undefined ? texts.close : texts.time.backToNow}
        </Button>
      </div>
      {isTooOld && (
        <p className="notice warn" role="alert">
          <Icon name="warn" /> {texts.time.tooOld(formatTime(new Date(floor).toISOString()))}{' '}
          <Button onClick={() => setAt(new Date(floor + 60_000).toISOString())}>{texts.time.toOldest}</Button>
        </p>
      )}
      {isComparing && at !== undefined && <Compare looked={looked} from={at} />}
    </section>
  )
}

const PLAY_MS = 1100

/** Plays the changes one by one, from the current moment or from the beginning. */
function usePlay(count: number, marks: readonly Mark[], setAt: (at: string | undefined) => void) {
  const [isPlaying, setPlaying] = useState(false)
  const isEnd = count >= marks.length
  useEffect(() => {
    if (!isPlaying) return
    if (isEnd) {
      setPlaying(false)
      return
    }
    const timer = setTimeout(() => setAt(momentOf(marks, count + 1)), PLAY_MS)
    return () => clearTimeout(timer)
  }, [isPlaying, isEnd, count, marks, setAt])
  const toggle = () => {
    if (!isPlaying && isEnd) setAt(momentOf(marks, 0))
    setPlaying(!isPlaying)
  }
  return { isPlaying, toggle }
}

interface SliderProps {
  readonly marks: readonly Mark[]
  readonly at: string | undefined
  readonly floor: number | undefined
  setAt(at: string | undefined): void
  step(by: number): void
}

const SNAP = 8
const MANY = 10
const PAUSE_MS = 120

/** Drag it, or use the arrow keys to go from change to change. During a drag, the page follows at its own pace. */
function Slider({ marks, at, floor, setAt, step }: SliderProps) {
  const texts = useTexts()
  const [dragged, setDragged] = useState<number>()
  const [now] = useState(Date.now)
  const scale = useMemo(() => scaleOf(marks, { now, at, floor }), [marks, now, at, floor])
  const momentAt = (value: number) => {
    if (value >= PLACES) return undefined
    const near = marks.findLast((mark) => Math.abs(scale.place(mark.time) - value) <= SNAP)
    return new Date(near?.time ?? scale.time(value)).toISOString()
  }
  useEffect(() => {
    if (dragged === undefined) return
    const timer = setTimeout(() => {
      setAt(momentAt(dragged))
      setDragged(undefined)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  })
  const press = (event: KeyboardEvent) => {
    const by = STEPS[event.key]
    if (by === undefined) return
    event.preventDefault()
    step(by)
  }
  const shown = dragged === undefined ? at : momentAt(dragged)
  return (
    <div className="time-slider">
      <Histogram places={marks.map(({ time }) => scale.place(time))} />
      <input
        type="range"
        min={0}
        max={PLACES}
        value={dragged ?? (at === undefined ? PLACES : scale.place(Date.parse(at)))}
        aria-label={texts.time.slider}
        aria-valuetext={shown === undefined ? texts.time.now : formatExactTime(shown)}
        onChange={(event) => setDragged(Number(event.target.value))}
        onKeyDown={press}
      />
      <div className="time-ends" aria-hidden="true">
        <span>{formatTime(new Date(scale.start).toISOString())}</span>
        <span>{texts.time.now}</span>
      </div>
    </div>
  )
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -MANY,
  PageUp: MANY,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}

const BARS = 200
const TALLEST = 20

/** Shows when how much changed. */
function Histogram({ places }: { readonly places: readonly number[] }) {
  const counts = new Map<number, number>()
  for (const one of places) {
    const bar = Math.floor((one / PLACES) * BARS)
    counts.set(bar, (counts.get(bar) ?? 0) + 1)
  }
  const most = Math.log1p(Math.max(1, ...counts.values()))
  return (
    <svg
      className="time-marks"
      viewBox={`0 0 ${BARS} ${TALLEST}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {[...counts].map(([bar, count]) => {
        const height = 6 + (TALLEST - 6) * (Math.log1p(count) / most)
        return <rect key={bar} x={bar} y={TALLEST - height} width={0.8} height={height} />
      })}
    </svg>
  )
}

/** An input for a moment. */
function Typed({ at, setAt }: { readonly at: string | undefined; setAt(at: string | undefined): void }) {
  const texts = useTexts()
  return (
    <input
      type="datetime-local"
      step="1"
      aria-label={texts.time.moment}
      value={toLocalInput(at)}
      onChange={(event) => {
        const moment = fromLocalInput(event.target.value)
        setAt(moment !== undefined && Date.parse(moment) >= Date.now() ? undefined : moment)
      }}
    />
  )
}

interface WhereProps {
  readonly at: string | undefined
  readonly mark: Mark | undefined
  readonly isEmpty: boolean
}

/** The current moment, in words. */
function Where({ at, mark, isEmpty }: WhereProps) {
  const texts = useTexts()
  const { admin } = useModel()
  if (at === undefined && isEmpty && !admin) return <p className="muted">{texts.time.noMarks}</p>
  if (at === undefined) return <p className="muted time-hint">{texts.time.hint}</p>
  return (
    <p className="time-where" role="status">
      <strong>{texts.time.asOf(formatSecond(at))}</strong>
      {mark !== undefined && (
        <>
          {texts.time.after} <MarkInWords mark={mark} />
        </>
      )}
    </p>
  )
}
