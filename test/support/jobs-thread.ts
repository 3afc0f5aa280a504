/** A thread for the tests of the host of threads. */
import { threadId } from 'node:worker_threads'
import { refuse } from '#core/foundation/errors.ts'
import { serveJobs } from '#core/foundation/thread-jobs.ts'

export type TestJob = 'id' | 'parts' | 'refuse' | 'throw' | 'end' | 'fill' | 'spin'

const acts: Record<TestJob, (send: (part: number) => void) => unknown> = {
  id: () => threadId,
  parts: (send) => [1, 2, 3].map(send).length,
  refuse: () => refuse('invalid_value', 'This value is wrong.', { details: [{ path: '/x' }] }),
  throw: () => {
    throw new RangeError('out of range')
  },
  end: () => process.exit(3),
  fill: () => {
    const kept: number[][] = []
    for (;;) kept.push(new Array(100_000).fill(kept.length))
  },
  spin: () => {
    for (;;);
  },
}

serveJobs((job: TestJob, send: (part: number) => void) => acts[job](send))
