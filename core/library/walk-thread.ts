/** The thread of a walk: sends what it finds in batches and waits while too many are unread. Started by walk-stream.ts. */
import { parentPort, workerData } from 'node:worker_threads'
import { walk } from '#core/library/walk.ts'
import { BATCH_FILES, BATCHES_AHEAD, READ, STOP, type WalkBatch, type WalkOrder } from '#core/library/walk-stream.ts'

const { options, shared } = workerData as WalkOrder
const port = parentPort as NonNullable<typeof parentPort>
/** Even a long stretch without news is reported, so that people see the walk move. */
const QUIET_MS = 250

let batch: WalkBatch = emptyBatch()
let files = 0
let sent = 0
let sentAt = Date.now()

function emptyBatch(): WalkBatch {
  return { changed: [], unchanged: [], unchangedFiles: 0, unreadable: [], symlinks: 0, done: false }
}

function send(): void {
  port.postMessage(batch)
  batch = emptyBatch()
  files = 0
  sent += 1
  sentAt = Date.now()
  for (let read = Atomics.load(shared, READ); sent - read > BATCHES_AHEAD && Atomics.load(shared, STOP) === 0; read = Atomics.load(shared, READ)) {
    Atomics.wait(shared, READ, read)
  }
}

for (const step of walk(options)) {
  if (Atomics.load(shared, STOP) === 1) break
  if (step.kind === 'changed') {
    batch.changed.push(step.part)
    files += step.part.names.length
  } else if (step.kind === 'unchanged') {
    batch.unchanged.push(step.folder)
    batch.unchangedFiles += step.files
  } else if (step.kind === 'unreadable') batch.unreadable.push({ path: step.path, message: step.message })
  else batch.symlinks += 1
  if (files >= BATCH_FILES || Date.now() - sentAt > QUIET_MS) send()
}
batch.done = true
send()
