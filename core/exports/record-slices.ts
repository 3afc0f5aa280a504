import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ExportRecord, ExportWriter } from '#core/exports/export-format.ts'

/** How long one slice may block the event loop. */
const SLICE_MS = 10
/** Characters per slice: encoding and writing more would take as long again. */
const SLICE_LENGTH = 256 * 1024

/** The text of a page of records in slices, with pauses for other work: a record may have a third of a megabyte, and a page has 50 of them. */
export async function* recordSlices(writer: Pick<ExportWriter, 'add'>, page: readonly ExportRecord[]): AsyncGenerator<string> {
  let begun = performance.now()
  let text = ''
  for (const record of page) {
    text += writer.add(record)
    if (text.length < SLICE_LENGTH && performance.now() - begun < SLICE_MS) continue
    yield text
    text = ''
    await nextTurn()
    begun = performance.now()
  }
  if (text !== '') yield text
}
