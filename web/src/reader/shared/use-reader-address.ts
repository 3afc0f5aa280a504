import { useLocation, useSearchParams } from 'wouter'

/** What the address of a reader says besides the book. */
export interface ReaderAddress {
  /** Kept for the next book. */
  search: URLSearchParams
  isIncognito: boolean
  toggleIncognito(): void
  navigate(href: string): void
}

export function useReaderAddress(): ReaderAddress {
  const [search, setSearch] = useSearchParams()
  const [, navigate] = useLocation()
  const isIncognito = search.has('incognito')
  const toggleIncognito = () =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (isIncognito) next.delete('incognito')
        else next.set('incognito', '1')
        return next
      },
      { replace: true },
    )
  return { search, isIncognito, toggleIncognito, navigate }
}

/** Fills the screen with the reader, or gives it back. Browsers of phones may refuse. */
export function toggleFullScreen(): void {
  const done = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen?.()
  done?.catch(() => {})
}
