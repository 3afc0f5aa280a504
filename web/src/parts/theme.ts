/** The themes that a person can choose; `system` follows the device. */
export const THEMES = ['system', 'light', 'dark', 'black'] as const
export type Theme = (typeof THEMES)[number]

/** The same as in src/app/theme-first.js, which runs before the first paint. */
const KEY = 'carrel.theme'

/** The theme that was chosen on this device. */
export function chosenTheme(): Theme {
  const { theme } = document.documentElement.dataset
  return THEMES.find((each) => each === theme) ?? 'system'
}

/** Shows a theme, and keeps it on this device. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  try {
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // The browser refuses storage: the choice lasts until the page is closed.
  }
}
