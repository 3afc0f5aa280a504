// Loaded into a server before its program (`--import`): stops its main thread for ever as soon as the file named by FREEZE_AT is there, as
// native code does, where no JavaScript runs and nothing can interrupt it.
import { existsSync, rmSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const file = process.env.FREEZE_AT
if (isMainThread && file !== undefined && process.argv[1]?.endsWith('api/main.ts')) {
  setInterval(() => {
    if (!existsSync(file)) return
    rmSync(file)
    // Tools that watch tests listen to every signal, in all that they start; the server itself does not to this one.
    process.removeAllListeners('SIGVTALRM')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }, 20).unref()
}
