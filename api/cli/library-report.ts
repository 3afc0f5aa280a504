import type { Terminal } from '#api/cli/terminal.ts'
import { typed } from '#api/cli/typed.ts'
import { BOOK_ERROR_LABELS, type BookErrorType } from '#core/fields/analysis.ts'
import { briefText, escapedText } from '#core/foundation/stranger-text.ts'
import type { LibraryProgress, LibrarySummary } from '#core/scan/library-progress-query.ts'
import { describeNotes, describeUnrelatedFolder } from '#core/scan/scan-notes.ts'
import { describeWithheld } from '#core/scan/withheld.ts'

/** Messages may contain long text from files; the summary shortens them. */
const TEXT_LENGTH_MAX = 160
/** A screen has no room for more. */
const WITHHELD_MAX = 10

const number = new Intl.NumberFormat('en-US')

/** Formats a count: "1 book", "1,234 books". */
export function count(n: number, noun: string): string {
  return `${number.format(n)} ${n === 1 || noun.endsWith('series') ? noun : `${noun}s`}`
}

/** One line about the current work; null if there is none. */
export function renderProgress(progress: LibraryProgress): string | null {
  const parts: string[] = []
  for (const scan of progress.scans) {
    const files = scan.filesTotal > 0 ? `: ${number.format(scan.filesProcessed)} of ${count(scan.filesTotal, 'file')}` : ''
    parts.push(`scanning ${escapedText(scan.library)}${files}`)
  }
  if (progress.analyses > 0) {
    const failed = progress.failed > 0 ? `, ${number.format(progress.failed)} failed` : ''
    // A book can be queued twice, for a normal analysis and a deep one.
    const done = Math.max(0, progress.books - progress.analyses)
    parts.push(`analyzing: ${number.format(done)} of ${count(progress.books, 'book')}${failed}`)
  } else if (progress.libraryAnalyses > 0) parts.push('queueing books for analysis')
  return parts.length === 0 ? null : parts.join('; ')
}

/** Prints the libraries, the number of waiting books, and failed books by error. */
export function printSummary(out: Terminal, summary: LibrarySummary): void {
  const failed = summary.failures.reduce((sum, failure) => sum + failure.count, 0)
  if (summary.libraries.length === 0) out.line(`  Libraries    none yet; add one: ${typed('library add DIR')}`)
  for (const [at, library] of summary.libraries.entries()) {
    const label = at === 0 ? 'Libraries' : ''
    out.line(
      `  ${label.padEnd(11)}  ${escapedText(library.name)} (${escapedText(library.path)}): ${count(library.books, 'book')} in ${count(library.series, 'series')}`,
    )
    for (const error of library.scanErrors.slice(0, 3))
      out.line(`  ${''.padEnd(11)}    ${briefText(describeScanError(error), TEXT_LENGTH_MAX)}`)
    for (const folder of library.withheld.slice(0, WITHHELD_MAX))
      out.line(`  ${''.padEnd(11)}    ${briefText(describeWithheld(folder), 2 * TEXT_LENGTH_MAX)}`)
    if (library.withheld.length > WITHHELD_MAX)
      out.line(`  ${''.padEnd(11)}    and ${number.format(library.withheld.length - WITHHELD_MAX)} more such folders`)
    for (const note of describeNotes(library)) out.line(`  ${''.padEnd(11)}    ${escapedText(note)}`)
    for (const path of library.unrelated) out.line(`  ${''.padEnd(11)}    ${escapedText(describeUnrelatedFolder(path))}`)
    if (library.unrelatedCount > library.unrelated.length)
      out.line(`  ${''.padEnd(11)}    and ${number.format(library.unrelatedCount - library.unrelated.length)} more such folders`)
    if (library.scanErrors.length > 3)
      out.line(`  ${''.padEnd(11)}    and ${number.format(library.scanErrors.length - 3)} more such errors`)
  }
  const waiting = summary.pending > 0 ? `, ${number.format(summary.pending)} ${summary.pending === 1 ? 'waits' : 'wait'} for analysis` : ''
  out.line(`  Books        ${number.format(summary.books)} found, ${failed === 0 ? 'none' : number.format(failed)} failed${waiting}`)
  if (summary.pending > 0)
    out.line(
      '    A file that looks incomplete, as if it was still being copied, is read again within 10 minutes: nothing else has to be done.',
    )
  for (const { errorType, count: books, examples } of summary.failures) {
    out.line(`    ${BOOK_ERROR_LABELS[errorType as BookErrorType] ?? errorType}: ${count(books, 'book')}`)
    for (const example of examples) out.line(`      ${escapedText(example.path)}\n        ${briefText(example.message, TEXT_LENGTH_MAX)}`)
    if (books > examples.length)
      out.line(`      and ${number.format(books - examples.length)} more: GET /api/v1/books/errors?errorType=${errorType}`)
  }
}

function describeScanError(error: unknown): string {
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  return JSON.stringify(error)
}
