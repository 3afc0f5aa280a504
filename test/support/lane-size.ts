import tap from 'tap'
import type { Lane } from '#test/support/lanes.ts'
import { testSeed } from '#test/support/timed-property.ts'

const lane = (process.env['TEST_LANE'] ?? 'main') as Lane

/** Options of a test that takes long: only the lane `full` runs it, and the others say so. */
export const onlyFull: { skip: false | string } = { skip: lane === 'full' ? false : 'left to npm run test:full' }

/**
 * Options of a test that compares times, CPU times or sizes of the heap. Programs beside it change these, so no such test decides whether a change is
 * taken: the lanes `cost`, which runs nothing else, and `full` have them.
 */
export const onlyCost: { skip: false | string; only: boolean } = {
  skip: lane === 'cost' || lane === 'full' ? false : 'left to npm run test:cost',
  only: lane === 'cost',
}

/** How many of something a test tries: all in the lane `full`, else the smaller number, which the output of the run then tells. */
export function sizeOf(what: string, size: { main: number; full: number }): number {
  if (lane === 'full') return size.full
  tap.comment(`smaller than in test:full: ${size.main} instead of ${size.full} ${what}`)
  return size.main
}

/** All of them in the lane `full`, else the first, which the output of the run then tells. */
export function someOf<Item>(what: string, all: readonly Item[], count: number): readonly Item[] {
  return all.slice(0, sizeOf(what, { main: Math.min(count, all.length), full: all.length }))
}

/** All of them in the lane `full`, else one of so many: others with another seed. */
export function oneOfEach<Item>(many: number, what: string, all: readonly Item[]): readonly Item[] {
  const every = sizeOf(`of how many ${what} one is taken`, { main: many, full: 1 })
  return all.filter((_, at) => (at + Math.abs(testSeed)) % every === 0)
}
