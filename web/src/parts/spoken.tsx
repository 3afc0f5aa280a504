import { useEffect, useRef, useState } from 'react'

/** Screen readers finish a sentence in this time; more often they would say nothing else. */
const PAUSE_MS = 5_000

/** Says a text that changes to screen readers, at most once in five seconds, and always the last one. */
export function Spoken({ text }: { text: string }) {
  const [said, setSaid] = useState(text)
  const saidAt = useRef(0)
  useEffect(() => {
    const wait = Math.max(0, saidAt.current + PAUSE_MS - performance.now())
    const timer = setTimeout(() => {
      saidAt.current = performance.now()
      setSaid(text)
    }, wait)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <p className="visually-hidden" role="status">
      {said}
    </p>
  )
}
