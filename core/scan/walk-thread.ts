/** The thread of walks, started by walk.ts: runs one walk after the other, and waits while too many batches are unread. */
import { parentPort } from 'node:worker_threads'
import { BATCH_FILES, BATCHES_AHEAD, READ, STOP, type WalkBatch, type WalkOrder } from '#core/scan/walk.ts'
import { walkFolders } from '#core/scan/walk-folders.ts'

const port = parentPort as NonNullable<typeof parentPort>
/** A batch is sent at least this often, even if empty, so that users see progress. */
const QUIET_MS = 250

const emptyBatch = (): WalkBatch => ({
  changed: [],
  unchanged: [],
  unchangedFiles: 0,
  unchangedRootFiles: 0,
  unreadable: [],
  symlinks: 0,
  done: false,
})

port.on('message', ({ options, shared }: WalkOrder) => {
  let batch = emptyBatch()
  let files = 0
  let sent = 0
  let sentAt = Date.now()
  const send = () => {
    port.postMessage(batch)
    batch = emptyBatch()
    files = 0
    sent += 1
    sentAt = Date.now()
  }
  const isStopped = () => Atomics.load(shared, STOP) === 1
  for (const step of walkFolders(options)) {
    if (isStopped()) break
    if (step.kind === 'changed') {
      batch.changed.push(step.part)
      files += step.part.names.length
    } else if (step.kind === 'unchanged') {
      batch.unchanged.push(step.folder)
      batch.unchangedFiles += step.files
      if (step.folder === '') batch.unchangedRootFiles = step.files
    } else if (step.kind === 'unreadable') batch.unreadable.push({ path: step.path, message: step.message })
    else batch.symlinks += 1
    if (files < BATCH_FILES && Date.now() - sentAt <= QUIET_MS) continue
    send()
    for (let read = Atomics.load(shared, READ); sent - read > BATCHES_AHEAD && !isStopped(); read = Atomics.load(shared, READ)) {
      Atomics.wait(shared, READ, read)
    }
  }
  batch.done = true
  send()
})
