/** The thread of walks, started by walk.ts: runs one walk after the other, and waits while too many batches are unread. */
import { serveJobs } from '#core/foundation/thread-jobs.ts'
import { BATCH_FILES, BATCHES_AHEAD, type WalkBatch, type WalkOrder } from '#core/scan/walk.ts'
import { walkFolders } from '#core/scan/walk-folders.ts'

/** A batch is sent at least this often, even if empty, so that users see progress. */
const QUIET_MS = 250

const emptyBatch = (): WalkBatch => ({
  changed: [],
  unchanged: [],
  unchangedFiles: 0,
  unchangedRootFiles: 0,
  seriesFiles: [],
  unreadable: [],
  symlinks: [],
  followed: [],
  alike: [],
  devices: [],
  leftOut: [],
})

serveJobs(({ options, read, calls }: WalkOrder, send: (batch: WalkBatch) => void): null => {
  let batch = emptyBatch()
  let files = 0
  let sent = 0
  let sentAt = Date.now()
  for (const step of walkFolders(options, () => Atomics.add(calls, 0, 1))) {
    if (step.kind === 'unchanged') {
      batch.unchanged.push(step.item.folder)
      batch.unchangedFiles += step.item.files
      if (step.item.folder === '') batch.unchangedRootFiles = step.item.files
    } else {
      if (step.kind === 'changed') files += step.item.names.length
      const items: unknown[] = batch[step.kind]
      items.push(step.item)
    }
    if (files < BATCH_FILES && Date.now() - sentAt <= QUIET_MS) continue
    send(batch)
    batch = emptyBatch()
    files = 0
    sent += 1
    sentAt = Date.now()
    for (let done = Atomics.load(read, 0); sent - done > BATCHES_AHEAD; done = Atomics.load(read, 0)) Atomics.wait(read, 0, done)
  }
  send(batch)
  return null
})
