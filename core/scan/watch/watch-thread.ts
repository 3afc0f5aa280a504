import { parentPort } from 'node:worker_threads'
import type { FromThread } from '#core/foundation/thread-jobs.ts'
import { FolderWatch, type WatchOrder, type WatchReport } from '#core/scan/watch/folder-watch.ts'

/** The program of a thread that watches one library until it is ended: its only job has parts, and no answer. */
const send = (message: FromThread<WatchReport, never>) => parentPort?.postMessage(message)
parentPort?.on('message', (order: WatchOrder) => new FolderWatch(order, (part) => send({ kind: 'part', part })))
send({ kind: 'ready' })
