import { createRequire } from 'node:module'

export type { JobHelpers, WorkerEvents, WorkerPool, WorkerUtils } from 'graphile-worker'

// When it is loaded, graphile-worker executes the settings file that it finds in the working folder or above it. Anyone who can write a file there, for
// instance into a library that the server was started from, could run code in this process. So it is loaded with our own folder as the working folder.
const folder = process.cwd()
process.chdir(import.meta.dirname)
const loaded: typeof import('graphile-worker') = createRequire(import.meta.url)('graphile-worker')
process.chdir(folder)

export const { Logger, makeWorkerUtils, runTaskList } = loaded
