import { useEffect, useState } from 'react'

/** In milliseconds: who types makes shorter pauses. */
const REST_MS = 400

/** A value of JSON as it was when it last stayed the same for a while: for requests about what is being typed. */
export function useRested<T>(value: T): T {
  const text = JSON.stringify(value)
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return JSON.parse(rested) as T
}
