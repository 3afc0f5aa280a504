const marks = (pairs: number) => 'a' + '\u0315\u0300'.repeat(pairs)
const LONGEST_SUMMARY = 39_000

/** A body that nests as deep as its bytes allow. */
export const DEEP = (bytesMax: number): string => `${'['.repeat(bytesMax / 2 - 1)}${']'.repeat(bytesMax / 2 - 1)}`

/** Invalid forms around a file, and invalid files. */
export const HOSTILE_FORMS = (bytesMax: number): { what: string; file: Buffer; head?: string }[] => [
  { what: 'largest invalid file', file: Buffer.alloc(bytesMax - 1_000, 'PK') },
  { what: 'long part head', file: Buffer.from('a'), head: `\r\nX: ${'a '.repeat(80_000)}` },
  { what: 'many lines in a part head', file: Buffer.from('a'), head: '\r\nX:\t'.repeat(40_000) },
]

/** Bodies that are known to block servers, by route. */
export const ATTACKS: Record<string, Record<string, unknown>> = {
  'POST /api/v1/conditions/evaluate': {
    'ambiguous patterns': {
      condition: {
        mode: 'all',
        rules: Array.from({ length: 200 }, () => ({ field: 'title', operator: 'matches', value: `${'(a|a)*'.repeat(60)}$` })),
      },
      context: { title: 'a'.repeat(400_000) },
    },
    marks: {
      condition: { mode: 'all', rules: [{ field: 'title', operator: 'equals', value: marks(400) }] },
      context: { title: marks(60_000) },
    },
  },
  'POST /api/v1/templates/render': {
    'nested blocks': { template: `${'{{#if title}}'.repeat(2_000)}${'{{/if}}'.repeat(2_000)}`, context: {} },
  },
  'POST /api/v1/series/list': {
    'many conditions': {
      condition: { anyOf: Array.from({ length: 200 }, (_, index) => ({ title: { operator: 'contains', value: `e${index}` } })) },
    },
    marks: { condition: { title: { operator: 'contains', value: marks(200) } }, fullTextSearch: marks(240) },
  },
  'POST /api/v1/books/list': {
    'many conditions': {
      condition: { anyOf: Array.from({ length: 200 }, (_, index) => ({ title: { operator: 'contains', value: `e${index}` } })) },
    },
    deep: { condition: JSON.parse(`${'{"not":'.repeat(800)}{"title":{"operator":"is","value":"a"}}${'}'.repeat(800)}`) },
  },
  'POST /api/v1/series/search': { marks: { query: marks(200_000) }, long: { query: 'ab '.repeat(300_000) } },
  'PUT /api/v1/series/:seriesId/tags': { marks: { tags: [marks(200_000)] } },
  'PATCH /api/v1/series/:seriesId/metadata': {
    marks: { summary: marks(LONGEST_SUMMARY / 2) },
    blanks: { summary: `a${' '.repeat(LONGEST_SUMMARY)}b` },
  },
  'PATCH /api/v1/books/:bookId/metadata': {
    marks: { summary: marks(LONGEST_SUMMARY / 2) },
    blanks: { summary: `a${' '.repeat(LONGEST_SUMMARY)}b` },
  },
  'PATCH /api/v1/libraries/:libraryId': {
    'title rules': {
      titlePreprocessingRules: Array.from({ length: 50 }, () => ({ pattern: `${'(a|a)*'.repeat(60)}$`, replacement: '' })),
    },
    braces: { excludedPatterns: Array.from({ length: 100 }, () => '{a,b}'.repeat(38)).join('\n') },
  },
}
