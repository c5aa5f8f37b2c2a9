import { type RefObject, useEffect, useRef, useState } from 'react'

const AHEAD = '200px'

/** Whether an element is in view, or nearly: data that only visible elements need is read then. */
export function useVisible<T extends Element>(): [RefObject<T | null>, boolean] {
  const element = useRef<T>(null)
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    if (element.current === null || isSeen) return
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true),
      { rootMargin: AHEAD },
    )
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [isSeen])
  return [element, isSeen]
}

/** Calls `reached` whenever an element comes into view: the end of a list loads the next page. */
export function useReached(reached: () => void): RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null)
  const latest = useRef(reached)
  latest.current = reached
  useEffect(() => {
    if (element.current === null) return
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && latest.current(),
      { rootMargin: AHEAD },
    )
    observer.observe(element.current)
    return () => observer.disconnect()
  })
  return element
}
