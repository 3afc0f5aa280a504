import { Register } from '#core/foundation/register.ts'

/** Releases a place; calling it again does nothing. */
type Release = () => void

/** A number of places with a limit per owner. The owner who waits longest comes first, except owners at their limit. */
export interface Places {
  /** A place without waiting, or null. */
  tryTake(owner: string): Release | null
  /** A place within the time, or null. */
  take(owner: string, waitMs: number): Promise<Release | null>
}

export function openPlaces({ total, perOwner }: { total: number; perOwner: number }): Places {
  const taken = new Register<number>()
  const waiting = new Set<{ owner: string; give: (release: Release) => void }>()
  let left = total

  function tryTake(owner: string): Release | null {
    const own = taken.get(owner) ?? 0
    if (left === 0 || own >= perOwner) return null
    left--
    taken.set(owner, own + 1)
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      release(owner)
    }
  }

  function release(owner: string): void {
    left++
    const own = (taken.get(owner) ?? 1) - 1
    if (own === 0) taken.delete(owner)
    else taken.set(owner, own)
    for (const next of waiting) {
      const place = tryTake(next.owner)
      if (place === null) continue
      waiting.delete(next)
      next.give(place)
      return
    }
  }

  return {
    tryTake,
    async take(owner, waitMs) {
      const place = tryTake(owner)
      if (place || waitMs <= 0) return place
      return await new Promise((resolve) => {
        const entry = {
          owner,
          give: (given: Release) => {
            clearTimeout(timer)
            resolve(given)
          },
        }
        const timer = setTimeout(() => {
          waiting.delete(entry)
          resolve(null)
        }, waitMs)
        waiting.add(entry)
      })
    },
  }
}
