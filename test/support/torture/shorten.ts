/**
 * A shorter list that still fails: leaves out halves, then quarters and so on of what is left, as long as there is time.
 * @param fails says why a list fails, or null
 */
export async function shorten<Item>(
  items: readonly Item[],
  fails: (some: readonly Item[]) => Promise<string[] | null>,
  { ms }: { ms: number },
): Promise<{ items: readonly Item[]; reasons: string[] | null }> {
  const end = Date.now() + ms
  let [left, reasons]: [readonly Item[], string[] | null] = [items, null]
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = left.length - size; at > -size; at -= size) {
      if (Date.now() > end) return { items: left, reasons }
      const fewer = [...left.slice(0, Math.max(0, at)), ...left.slice(at + size)]
      const why = fewer.length < left.length ? await fails(fewer) : null
      if (why) [left, reasons] = [fewer, why]
    }
  }
  return { items: left, reasons }
}
