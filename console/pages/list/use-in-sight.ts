import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'

/** The places of the rows that are there: from `first` up to `end`, which is not one of them. */
export interface InSight {
  readonly first: number
  readonly end: number
}

interface Sized {
  readonly scroller: RefObject<HTMLDivElement | null>
  /** Of each row, in pixels. */
  readonly height: number
  /** Where it begins. */
  readonly scrollTop: number
}

/** So many rows more than can be seen, above and below. */
const MORE = 4
/** Rows come and go so many at once: while somebody scrolls slowly, most frames have nothing to do. */
const AT_ONCE = 4

/** Which rows of a list are in sight. All have the same height, so that nothing must be measured. */
export function useInSight({ scroller, height, scrollTop }: Sized): InSight {
  const seen = useRef(innerHeight)
  const look = useCallback(
    (top: number): InSight => {
      const first = Math.floor(top / height / AT_ONCE) * AT_ONCE
      return {
        first: Math.max(0, first - MORE),
        end: first + Math.ceil(seen.current / height) + AT_ONCE + MORE,
      }
    },
    [height],
  )
  const [inSight, setInSight] = useState(() => look(scrollTop))
  const latest = useRef(inSight)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box === null) return
    const update = () => {
      const next = look(box.scrollTop)
      if (next.first === latest.current.first && next.end === latest.current.end) return
      latest.current = next
      setInSight(next)
    }
    // In the same frame, so that nobody sees where rows are missing.
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
  return inSight
}
