import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'

/** The places of the rendered rows: from `first` up to, but without, `end`. */
export interface VisibleRows {
  readonly first: number
  readonly end: number
}

interface Sized {
  readonly scroller: RefObject<HTMLDivElement | null>
  /** The height of a row, in pixels. */
  readonly height: number
  /** The scroll position at the start. */
  readonly scrollTop: number
}

/** How many extra rows are rendered, above and below those in sight. */
const MORE = 4
/** Rows are added and removed in steps of this many: in slow scrolling, most frames have nothing to do. */
const AT_ONCE = 4

/** Returns which rows of a list are in sight. All have the same height, so nothing is measured. */
export function useVisibleRows({ scroller, height, scrollTop }: Sized): VisibleRows {
  const seen = useRef(innerHeight)
  const look = useCallback(
    (top: number): VisibleRows => {
      const first = Math.floor(top / height / AT_ONCE) * AT_ONCE
      return {
        first: Math.max(0, first - MORE),
        end: first + Math.ceil(seen.current / height) + AT_ONCE + MORE,
      }
    },
    [height],
  )
  const [visible, setVisible] = useState(() => look(scrollTop))
  const latest = useRef(visible)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box === null) return
    const update = () => {
      const next = look(box.scrollTop)
      if (next.first === latest.current.first && next.end === latest.current.end) return
      latest.current = next
      setVisible(next)
    }
    // In the same frame, so that no gaps are seen.
    const scroll = () => flushSync(update)
    const size = new ResizeObserver(() => {
      seen.current = box.clientHeight
      update()
    })
    box.addEventListener('scroll', scroll, { passive: true })
    size.observe(box)
    return () => {
      box.removeEventListener('scroll', scroll)
      size.disconnect()
    }
  }, [scroller, look])
  return visible
}
