// @ts-check
// Loaded into a server before its program (`--import`): blocks its main thread forever as soon as the file named by FREEZE_AT exists, as native
// code can: no JavaScript runs, and nothing can interrupt it.
import { existsSync, rmSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.FREEZE_AT
if (isMainThread && file !== undefined && process.argv[1]?.endsWith('api/main.ts')) {
  setInterval(() => {
    if (!existsSync(file)) return
    rmSync(file)
    // The test runner adds listeners for every signal in all child processes; the server itself does not listen to this one.
    process.removeAllListeners('SIGVTALRM')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }, 20).unref()
}
