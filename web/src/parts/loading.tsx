import { type ReactNode, useEffect, useState } from 'react'

/** Before this, a skeleton would only flash. */
const SHOWN_AFTER_MS = 300

/** Shows its content only when something takes long. */
export function Late({ children }: { children: ReactNode }) {
  const [isShown, setIsShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), SHOWN_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return isShown ? children : null
}

/** The shape of a row of cards; it keeps their place from the start and is seen after 300 ms. */
export function CardBones({ count }: { count: number }) {
  const [isShown, setIsShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), SHOWN_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return Array.from({ length: count }, (_, index) => (
    <li className="card" key={index} aria-hidden="true" style={{ visibility: isShown ? 'visible' : 'hidden' }}>
      <span className="cover bone" />
      <span className="bone" style={{ inlineSize: '80%' }} />
      <span className="bone" style={{ inlineSize: '50%' }} />
    </li>
  ))
}
