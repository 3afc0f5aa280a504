import type { TimeLeft } from './use-time-left.ts'

/** How long the rest of the book and of its series will take; nothing while that is not known. */
export function TimeLeftLine({ timeLeft: { book, series } }: { timeLeft: TimeLeft }) {
  if (book === null) return null
  return (
    <p className="time-left">
      <span>{book}</span>
      {series !== null && <span>{series}</span>}
    </p>
  )
}
