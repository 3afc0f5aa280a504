import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { runCommandLine } from '#plugins/devkit/command-line.ts'

const PATIENCE_MS = 60_000

/** Runs `carrel-plugin dev` in a folder until the test ends. */
export function runDev(t: Test, folder: string, given: readonly string[]) {
  const stop = new AbortController()
  let said = ''
  const hear = (text: string) => {
    said += `${text}\n`
  }
  const ended = runCommandLine(['dev', ...given], {
    cwd: folder,
    out: { line: (text = '') => hear(text), paint: (_style, text) => text },
    printError: hear,
    stop: stop.signal,
  })
  const end = async () => {
    stop.abort()
    return await ended
  }
  t.teardown(end)
  return {
    ended,
    end,
    said: () => said,
    clear() {
      said = ''
    },
    /** Waits for this number of matches in the output and returns the last one. @param wanted a global expression */
    async says(wanted: RegExp, times = 1): Promise<RegExpMatchArray> {
      for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await sleep(20)) {
        const found = [...said.matchAll(wanted)]
        if (found.length >= times) return found.at(-1) as RegExpMatchArray
      }
      throw new Error(`It did not say ${wanted}, but:\n${said}`)
    },
  }
}
