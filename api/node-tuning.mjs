// How Node is started for the server. Apart from launch.mjs so that benches and tests start the same thing.
import os from 'node:os'

/**
 * V8 lets its young generation grow to 16 MB a semi-space before it collects, and every thread has one; with 4 MB nothing is slower.
 * --expose-gc is for api/garbage.ts. Without --disable-sigusr1 one signal of any process of the same user opens Node's inspector, and with it
 * everything that the server may do; Node has it since 22.14.
 */
export const NODE_FLAGS = ['--max-semi-space-size=4', '--expose-gc', '--disable-sigusr1']

/** What an administrator has set stands. */
export function tunedEnvironment(/** @type {NodeJS.ProcessEnv} */ environment) {
  return {
    // glibc gives every thread a heap of its own and keeps what each has freed: some 80 MB more with our threads, for nothing.
    MALLOC_ARENA_MAX: '2',
    // Image work keeps as many threads busy as there are cores; files and digests need some beside them.
    UV_THREADPOOL_SIZE: String(Math.max(6, os.availableParallelism() + 4)),
    ...environment,
  }
}
