import {
  BOOK_ANCHOR,
  BOOK_EXPORT_FIELDS,
  type ExportColumns,
  type ExportField,
  type ExportFormat,
  SERIES_ANCHOR,
  SERIES_EXPORT_FIELDS,
} from '#core/exports/export-field-query.ts'

/** A series or book from the database: by field; a field with several values is an array of texts or of small objects. */
export type ExportRow = Readonly<Record<string, unknown>>

/** One record of an export. In an export of both, a series is followed by its books. */
export type ExportRecord = { kind: 'series' | 'book'; row: ExportRow }

/** Produces a file piece by piece, so that no more than a piece is ever in memory. */
export interface ExportWriter {
  start(): string
  add(record: ExportRecord): string
  end(): string
}

export const EXPORT_MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  md: 'text/markdown; charset=utf-8',
}

export const exportWriterOf = (format: ExportFormat, columns: ExportColumns): ExportWriter => WRITERS[format](columns)

const WRITERS: Record<ExportFormat, (columns: ExportColumns) => ExportWriter> = { json: writeJson, csv: writeCsv, md: writeMarkdown }

/** An array of records, one per line; in an export of both each series has its books as a member. */
function writeJson({ type, fields, bookFields }: ExportColumns): ExportWriter {
  let count = 0
  let open = false
  let books = 0
  const objectText = (keys: readonly string[], row: ExportRow) =>
    JSON.stringify(Object.fromEntries(keys.map((key) => [key, jsonOf(row[key])])))
  const close = () => (open ? `${books > 0 ? '\n' : ''}]}` : '')
  return {
    start: () => '[',
    add({ kind, row }) {
      if (kind === 'book' && type === 'both') return `${books++ > 0 ? ',' : ''}\n  ${objectText(bookFields, row)}`
      const before = `${close()}${count++ > 0 ? ',' : ''}\n`
      if (kind === 'book') return before + objectText(bookFields, row)
      if (type !== 'both') return before + objectText(fields, row)
      open = true
      books = 0
      return `${before}${objectText(fields, row).slice(0, -1)},"books":[`
    },
    end: () => `${close()}\n]\n`,
  }
}

/** Fields of a series that its books repeat in a table of both, so that each row shows its series. */
const REPEATED: ReadonlySet<string> = new Set([SERIES_ANCHOR, 'series_id', 'library_id', 'library_name'])

/**
 * RFC 4180: lines end with CRLF, and a cell with a comma, quote or line break is quoted. Spreadsheets evaluate a text that begins like a
 * formula, so such a text gets an apostrophe in front, which marks it as text; so does one that already has apostrophes before
 * such a beginning, so that removing one apostrophe restores every text.
 */
function writeCsv({ type, fields, bookFields }: ExportColumns): ExportWriter {
  const line = (cells: readonly string[]) => `${cells.join(',')}\r\n`
  const cells = (keys: readonly string[], row: ExportRow) => keys.map((key) => csvCell(row[key]))
  const header =
    type === 'series'
      ? fields
      : type === 'books'
        ? bookFields
        : ['record_type', ...fields, ...bookFields.map((key) => (key.startsWith('book_') ? key : `book_${key}`))]
  let series: ExportRow = {}
  return {
    // Without the byte order mark, Excel uses the code page of the country.
    start: () => `\uFEFF${line(header)}`,
    add({ kind, row }) {
      if (type !== 'both') return line(cells(kind === 'series' ? fields : bookFields, row))
      if (kind === 'series') {
        series = row
        return line(['series', ...cells(fields, row), ...bookFields.map(() => '')])
      }
      const repeated = fields.map((key) => (REPEATED.has(key) ? csvCell(series[key]) : ''))
      return line(['book', ...repeated, ...cells(bookFields, row)])
    },
    end: () => '',
  }
}

/** Also characters that only some spreadsheets treat as operators (full width), after characters that they skip. */
const FORMULA = /^['\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^'*[\t\r\n]/u

export function csvCell(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = textOf(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A heading for each record and a list of its fields. */
function writeMarkdown({ type, fields, bookFields }: ExportColumns): ExportWriter {
  const section = (depth: string, anchor: string, keys: readonly string[], labels: Record<string, ExportField>, row: ExportRow) => {
    const lines = keys
      .filter((key) => key !== anchor)
      .map((key) => [labels[key]?.label ?? key, markdownOf(row[key])] as const)
      .filter(([, text]) => text !== '')
      .map(([label, text]) => `- **${label}:** ${text}\n`)
    return `\n${depth} ${headingOf(row[anchor])}\n${lines.length > 0 ? '\n' : ''}${lines.join('')}`
  }
  return {
    start: () => `# ${type === 'books' ? 'Books' : 'Series'}\n`,
    add: ({ kind, row }) =>
      kind === 'series'
        ? section('##', SERIES_ANCHOR, fields, SERIES_EXPORT_FIELDS, row)
        : section(type === 'both' ? '###' : '##', BOOK_ANCHOR, bookFields, BOOK_EXPORT_FIELDS, row),
    end: () => '',
  }
}

const headingOf = (value: unknown) => escapeMarkdown(plain(value).replaceAll(LINE_BREAKS, ' ')) || '(no name)'

function markdownOf(value: unknown): string {
  const text = Array.isArray(value) ? value.map(itemText).join(', ') : plain(value)
  // An empty line would end the list, and a new line may begin a heading or another list: line breaks stay inside the item.
  return text
    .split(LINE_BREAKS)
    .map(escapeMarkdown)
    .filter((line) => line !== '')
    .join('\\\n  ')
}

const LINE_BREAKS = /[\r\n\v\f\u0085\u2028\u2029]+/g

/** One line of text that renders literally in any place: without markup, HTML and new links. */
export function escapeMarkdown(line: string): string {
  return (
    line
      .replaceAll(/[\s\p{Cc}]+/gu, ' ')
      .trim()
      .replaceAll(/[\\`*_{}[\]<>#|~$&]/g, '\\$&')
      // At the beginning of a line these start a list or a rule, or turn the previous line into a heading.
      .replace(/^[-+=]/, '\\$&')
      .replace(/^(\d{1,9})([.)])/, '$1\\$2')
      // Renderers turn addresses into links automatically.
      .replaceAll(/:(?=\/\/)/g, '\\:')
      .replaceAll(/\bwww\./gi, (found) => `${found.slice(0, -1)}\\.`)
  )
}

/** Several values in one cell: separated by bars, with a backslash before a bar or backslash inside a value. */
function textOf(value: unknown): string {
  if (!Array.isArray(value)) return plain(value)
  return value.map((item) => itemText(item).replaceAll(/[\\|]/g, '\\$&')).join(' | ')
}

function plain(value: unknown): string {
  const given = jsonOf(value)
  return given === null ? '' : typeof given === 'object' ? itemText(given) : String(given)
}

/** How a person would write one of several values. */
function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return plain(item)
  const { name, role, label, title, source, rating, voteCount, externalId } = item as Record<string, unknown>
  if (name !== undefined) return role ? `${name} (${role})` : String(name)
  if (title !== undefined) return label ? `${label}: ${title}` : String(title)
  if (rating !== undefined) return `${source}: ${rating}${voteCount == null ? '' : ` (${voteCount} votes)`}`
  if (externalId !== undefined) return `${source}: ${externalId}`
  return JSON.stringify(item)
}

function jsonOf(value: unknown): unknown {
  if (value === undefined || value === null) return null
  return value instanceof Date ? value.toISOString() : value
}
