import { createRequire } from 'node:module'

export type { JobHelpers, WorkerEvents, WorkerPool, WorkerUtils } from 'graphile-worker'

// When it is loaded graphile-worker looks for settings in the working folder and all above it, and runs what it finds there: whoever may put a file into
// the folder that the server was started in, a library for instance, would run code of his own. So it looks where our code lies.
const folder = process.cwd()
process.chdir(import.meta.dirname)
const loaded: typeof import('graphile-worker') = createRequire(import.meta.url)('graphile-worker')
process.chdir(folder)

export const { Logger, makeWorkerUtils, runTaskList } = loaded
