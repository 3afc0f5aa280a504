/** How much stands on a page at once. */
export const DENSITIES = ['comfortable', 'compact'] as const
export type Density = (typeof DENSITIES)[number]

/** The same as in src/app/theme-first.js, which runs before the first paint. */
const KEY = 'carrel.density'

/** The density that was chosen on this device. */
export const chosenDensity = (): Density => (document.documentElement.dataset['density'] === 'compact' ? 'compact' : 'comfortable')

/** Shows a density, and keeps it on this device. Its lengths are tokens; the rows of long lists, which have no measured heights, are in `rowLayout`. */
export function chooseDensity(density: Density): void {
  const isUsual = density === 'comfortable'
  if (isUsual) delete document.documentElement.dataset['density']
  else document.documentElement.dataset['density'] = density
  try {
    if (isUsual) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, density)
  } catch {
    // The browser refuses storage: the choice lasts until the page is closed.
  }
}
