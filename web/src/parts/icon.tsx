import type { LucideIcon } from 'lucide-react'

/** An icon beside words, or in a button that has a name: screen readers skip it. `--size` of the styles changes its size. */
export function Icon({ of: Drawing, flips }: { of: LucideIcon /** Points along the direction of writing. */; flips?: boolean }) {
  return <Drawing className={flips ? 'icon flips' : 'icon'} strokeWidth={1.75} aria-hidden="true" />
}
