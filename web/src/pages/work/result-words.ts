import { workTexts } from '#texts/work.ts'

/** The numbers that results of tasks have, in the order in which they are said. */
const COUNTS = [
  'filesTotal',
  'booksFound',
  'processed',
  'verified',
  'moved',
  'changed',
  'rotted',
  'damaged',
  'purged',
  'missing',
  'withheld',
  'skipped',
  'symlinksSkipped',
  'errors',
] as const

/** "12 changed · 3 left as they are": what a completed task did and left out; of other results, and of zeros, nothing. */
export function resultWords({ status, result }: { status: string; result?: unknown }): string[] {
  if (status !== 'completed' || typeof result !== 'object' || result === null) return []
  return COUNTS.flatMap((name) => {
    const count = (result as Record<string, unknown>)[name]
    return typeof count === 'number' && count > 0 ? [workTexts[`did_${name}`]({ count })] : []
  })
}
