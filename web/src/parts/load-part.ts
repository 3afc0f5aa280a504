/** A page opened before an update asks for files of the old build: it is loaded again, once in this time, so that a broken build cannot loop. */
const RELOAD_PAUSE_MS = 60_000
const KEY = 'carrel.reloaded'

/** Loads the page again when a file of it is missing on the server. */
export function reloadOnMissingFiles(): void {
  addEventListener('vite:preloadError', (event) => {
    try {
      if (Date.now() - Number(sessionStorage.getItem(KEY)) < RELOAD_PAUSE_MS) return
      sessionStorage.setItem(KEY, String(Date.now()))
    } catch {
      // Without storage a reload could repeat without end; the page shows the error instead.
      return
    }
    event.preventDefault()
    location.reload()
  })
}
