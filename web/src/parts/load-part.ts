import { serverAddress } from '#api/client.ts'
import { partTexts } from '#texts/parts.ts'

/** A page opened before an update asks for files of the old build: it is loaded again, once in this time, so that a broken build cannot loop. */
const RELOAD_PAUSE_MS = 60_000
const KEY = 'carrel.reloaded'

/**
 * Imports a part of the interface that is loaded when it is needed: `loadPart(() => import('…'))`. When its file is missing on the server, the page is loaded
 * again.
 * @throws MissingPart without a server, and shortly after the page was loaded again
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load()
  } catch (error) {
    // Nothing is shown meanwhile.
    if (await reloadOnce()) return await new Promise<never>(() => {})
    throw new MissingPart(partTexts.partMissing(), { cause: error })
  }
}

/** Tells people that a part of the interface could not be loaded. */
export class MissingPart extends Error {}

/** Loads the page again, if there is a server and it did not happen a moment ago. @returns whether it does */
export async function reloadOnce(): Promise<boolean> {
  if (!(await isServerThere())) return false
  try {
    if (Date.now() - Number(sessionStorage.getItem(KEY)) < RELOAD_PAUSE_MS) return false
    sessionStorage.setItem(KEY, String(Date.now()))
  } catch {
    // Without storage a reload could repeat without end; the page shows the error instead.
    return false
  }
  location.reload()
  return true
}

/** Loads the page again. Without a server nothing happens: the browser would show a page of its own, from which nothing comes back. */
export async function reload(): Promise<void> {
  if (await isServerThere()) location.reload()
}

async function isServerThere(): Promise<boolean> {
  const answer = await fetch(serverAddress('/'), { headers: { Accept: 'text/html' }, cache: 'no-store' }).catch(() => null)
  return answer?.ok ?? false
}
