import { setImmediate as nextTurn } from 'node:timers/promises'
import { bufferOf } from '#core/foundation/byte-view.ts'

/**
 * Long lists between threads: a copy of a hundred thousand records takes half a second of the thread that receives it, in one piece. Lines of JSON move
 * as bytes and are read one by one, with turns of the event loop in between.
 */

/** A run is parsed within some milliseconds. */
const RUN_CHARACTERS = 128 * 1024
/** Runs of short records, such as those of files, take longer for their length. */
const RUN_RECORDS = 1_000

const LINE_FEED = 10

/** Records as JSON, separated by commas, in pieces that are short enough for one turn. */
export function* runsOf(records: Iterable<unknown>): Generator<string> {
  let run: string[] = []
  let length = 0
  for (const record of records) {
    const text = JSON.stringify(record)
    run.push(text)
    length += text.length
    if (length < RUN_CHARACTERS && run.length < RUN_RECORDS) continue
    yield run.join()
    run = []
    length = 0
  }
  if (run.length > 0) yield run.join()
}

/** @param lines of JSON, without line feeds */
export const writeLines = (lines: readonly string[]): Uint8Array => Buffer.from(lines.join('\n'))

/** The values of what writeLines has written, each in a turn of its own. */
export async function* readLines(bytes: Uint8Array): AsyncGenerator<unknown> {
  const text = bufferOf(bytes)
  for (let start = 0; start < text.length; ) {
    const at = text.indexOf(LINE_FEED, start)
    const end = at < 0 ? text.length : at
    yield JSON.parse(text.toString('utf8', start, end))
    start = end + 1
    if (start < text.length) await nextTurn()
  }
}
