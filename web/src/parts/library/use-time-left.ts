import { useRef } from 'react'
import { setupTexts } from '#texts/setup.ts'

/** Before this, a guess would jump. */
const KNOWN_AFTER_MS = 8_000
const KNOWN_AFTER_SHARE = 0.04

/** About how long work still takes, in words, from how fast it went since the page was opened; null until that can be known. @param share 0 to 1 */
export function useTimeLeft(share: number | null): string | null {
  const first = useRef<{ share: number; at: number } | null>(null)
  if (share === null) return null
  // Work that begins again starts anew.
  if (first.current === null || share < first.current.share) first.current = { share, at: performance.now() }
  const done = share - first.current.share
  const tookMs = performance.now() - first.current.at
  if (tookMs < KNOWN_AFTER_MS || done < KNOWN_AFTER_SHARE) return null
  const minutes = ((1 - share) * tookMs) / done / 60_000
  if (minutes < 1) return setupTexts.underMinute()
  return minutes < 90 ? setupTexts.minutes({ count: Math.round(minutes) }) : setupTexts.hours({ count: Math.round(minutes / 60) })
}
