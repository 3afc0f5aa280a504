import { readFile } from 'node:fs/promises'
import type { Knex } from 'knex'
import { chosenCoverPath, coverPath, type DescribeCover } from '#core/covers/cover.ts'
import {
  type CoverDescription,
  countUndescribedCovers,
  eachUndescribedCover,
  hasUndescribedCovers,
  recordCoverDescriptions,
  type UndescribedCover,
} from '#core/covers/describe-covers-store.ts'
import type { TaskAdder, TaskRun } from '#core/tasks/task.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'

const TYPE = 'describe_covers'
/** Covers per statement: half a second of work, which is all that a stopped server does again. Each statement makes lists read their page anew. */
const STEP = 200

interface Dependencies {
  database: Knex
  describeCover: DescribeCover
  dataFolder: string
}

/** Registers the handler with the queue; call before its start(). */
export function handleCoverDescriptions({ tasks, ...dependencies }: Dependencies & { tasks: TaskQueue }): void {
  tasks.handle(TYPE, { concurrency: 1 }, (run) => describeCovers(dependencies, run))
}

/** Queues a task that stores size and color of covers that are older than their columns, if there are any. */
export async function requestCoverDescriptions({ database, tasks }: { database: Knex; tasks: TaskAdder }): Promise<void> {
  if (await hasUndescribedCovers(database)) await tasks.add({ type: TYPE, dedupeKey: TYPE })
}

/** One cover after the other, so that it takes one core at most. What is stored is not done again. `failed`: the file is missing or damaged. */
async function describeCovers(
  { database, describeCover, dataFolder }: Dependencies,
  run: Pick<TaskRun, 'signal' | 'progress'>,
): Promise<{ described: number; failed: number }> {
  const total = await countUndescribedCovers(database)
  const done = { described: 0, failed: 0 }
  for await (const covers of eachUndescribedCover(database, STEP)) {
    const described: CoverDescription[] = []
    for (const cover of covers) {
      run.signal.throwIfAborted()
      const jpeg = await readFile(fileOf(dataFolder, cover)).catch(() => null)
      const found = jpeg && (await describeCover(jpeg))
      if (found) described.push({ id: cover.id, hash: cover.hash, ...found })
    }
    await recordCoverDescriptions(database, covers[0]?.owner ? 'covers' : 'books', described)
    done.described += described.length
    done.failed += covers.length - described.length
    const current = done.described + done.failed
    run.progress(current, Math.max(total, current))
  }
  return done
}

const fileOf = (dataFolder: string, { id, owner }: UndescribedCover): string =>
  owner === null ? coverPath(dataFolder, id) : chosenCoverPath(dataFolder, owner, { id, size: 'small' })
