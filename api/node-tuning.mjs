// @ts-check
// How Node is started for the server. Separate from launch.mjs, so that benchmarks and tests start it the same way.
import os from 'node:os'

/**
 * V8 lets the young generation grow to 16 MB per semi-space in every thread; 4 MB are not slower. Pretenuring allocates objects as old ones where
 * many have survived: it judges by the first requests after the start, when the collector meets most of them unfinished, and in half of all
 * processes it then makes parts of each request old, which keeps all of it (8 KB) until a full collection and doubles the collector's time.
 * --expose-gc is for api/garbage.ts. Without --disable-sigusr1, a signal from any process of the same user opens Node's inspector, which can do
 * everything that the server can; Node has the flag since 22.14.
 */
export const NODE_FLAGS = ['--max-semi-space-size=4', '--no-allocation-site-pretenuring', '--expose-gc', '--disable-sigusr1']

/** Keeps variables that an administrator has set. */
export function tunedEnvironment(/** @type {NodeJS.ProcessEnv} */ environment) {
  return {
    // glibc gives every thread its own heap and keeps freed memory in each: some 80 MB more, without benefit.
    MALLOC_ARENA_MAX: '2',
    // Image work occupies as many threads as there are cores, libraries on disks that hang up to twelve (core/foundation/disk-calls.ts), and other files and
    // digests need some more.
    UV_THREADPOOL_SIZE: String(os.availableParallelism() + 16),
    ...environment,
  }
}
