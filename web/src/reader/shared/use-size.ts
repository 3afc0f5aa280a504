import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

export interface Size {
  width: number
  height: number
}

/** The size of an element in CSS pixels; null before the first layout. Follows the reference when it gets another element. */
export function useSize(element: RefObject<HTMLElement | null>): Size | null {
  const [size, setSize] = useState<Size | null>(null)
  const observed = useRef<{ element: HTMLElement; observer: ResizeObserver } | null>(null)
  // After each rendering, because nothing tells that a reference has another element.
  useLayoutEffect(() => {
    const present = element.current
    if (present === (observed.current?.element ?? null)) return
    observed.current?.observer.disconnect()
    observed.current = present && observe(present, setSize)
  })
  useLayoutEffect(
    () => () => {
      observed.current?.observer.disconnect()
      observed.current = null
    },
    [],
  )
  return size
}

function observe(element: HTMLElement, setSize: (change: (before: Size | null) => Size) => void) {
  const measure = () => {
    const { clientWidth: width, clientHeight: height } = element
    setSize((before) => (before?.width === width && before.height === height ? before : { width, height }))
  }
  measure()
  const observer = new ResizeObserver(measure)
  observer.observe(element)
  return { element, observer }
}
