import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Works through many things a few at a time, with a turn of the event loop after each slice: what is done for five hundred records at a stretch
 * keeps everybody else waiting.
 * @param size of a slice; as many as are done within some ten milliseconds
 * @returns what `work` answered for the slices, in their order
 */
export async function inSlices<Item, Result>(
  items: readonly Item[],
  size: number,
  work: (slice: Item[]) => Promise<readonly Result[]>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += size) {
    for (const result of await work(items.slice(start, start + size))) results.push(result)
    await nextTurn()
  }
  return results
}
