/** Describes a helper of templates for the documentation; tests run the examples. */
interface HelperDoc {
  name: string
  about: string
  examples: { template: string; output: string }[]
}

/** The context of the examples: short, with a bit of everything. */
export const EXAMPLE_CONTEXT = {
  type: 'book',
  metadata: {
    title: 'the long way home',
    number: 7,
    year: 1999,
    summary: 'Two friends walk home. It takes a while.',
    publisher: null,
    isbns: '9780306406157, 0306406152',
    manga: false,
    genres: ['Drama', 'Travel'],
    authors: [
      { name: 'Ann Writer', role: 'writer', sortName: 'Writer, Ann' },
      { name: 'Bo Inker', role: 'inker', sortName: null },
    ],
  },
  externalIds: { 'plugin:anilist': { id: '4711', url: null, hash: null } },
  customMetadata: { shelf: 'B & W', bought: '2024-03-09T10:20:30Z' },
  series: { type: 'series', metadata: { title: 'Homecoming', totalVolumeCount: 12 } },
} as const

const helper = (name: string, about: string, ...examples: [template: string, output: string][]): HelperDoc => ({
  name,
  about,
  examples: examples.map(([template, output]) => ({ template, output })),
})

/** Every helper, by what it is for. Those that test a condition are used as a block with {{else}}, or in parentheses inside of other helpers. */
export const HELPER_DOCS: readonly HelperDoc[] = [
  helper('if', 'Renders the block unless the value is missing, false, 0, an empty text or an empty list.', [
    '{{#if metadata.publisher}}known{{else}}unknown{{/if}}',
    'unknown',
  ]),
  helper('unless', 'Renders the block if the value is missing, false, 0, an empty text or an empty list.', [
    '{{#unless metadata.manga}}western{{/unless}}',
    'western',
  ]),
  helper('with', 'Renders the block with the value as its context.', [
    '{{#with series.metadata}}{{title}} of {{../metadata.year}}{{/with}}',
    'Homecoming of 1999',
  ]),
  helper('each', 'Renders the block for every entry of a list or an object, with @index, @key, @first and @last.', [
    '{{#each metadata.authors}}{{name}}{{#unless @last}} and {{/unless}}{{/each}}',
    'Ann Writer and Bo Inker',
  ]),
  helper('lowercase', 'Converts to lower case.', ['{{lowercase series.metadata.title}}', 'homecoming']),
  helper('uppercase', 'Converts to upper case.', ['{{uppercase metadata.title}}', 'THE LONG WAY HOME']),
  helper('capitalize', 'Capitalizes the first letter of each word.', ['{{capitalize metadata.title}}', 'The Long Way Home']),
  helper('trim', 'Removes white space from both ends.', ['[{{trim "  a b  "}}]', '[a b]']),
  helper(
    'truncate',
    'Truncates to a number of characters (default 100) and appends a suffix (default "...").',
    ['{{truncate metadata.summary 11}}', 'Two friends...'],
    ['{{truncate metadata.summary 3 "…"}}', 'Two…'],
  ),
  helper('replace', 'Replaces every occurrence of a text with another.', ['{{replace metadata.title "home" "back"}}', 'the long way back']),
  helper(
    'split',
    'Splits at a separator; with an index, returns that part, counted from the end if negative.',
    ['{{split metadata.isbns ", " 1}}', '0306406152'],
    ['{{length (split metadata.title " ")}}', '4'],
  ),
  helper(
    'join',
    'Joins the entries of a list into one text; people by their names.',
    ['{{join metadata.genres " / "}}', 'Drama / Travel'],
    ['{{join metadata.authors}}', 'Ann Writer, Bo Inker'],
  ),
  helper('default', 'Returns the first value that is not missing or empty.', ['{{default metadata.publisher "unknown"}}', 'unknown']),
  helper('urlencode', 'Encodes for use in a URL.', [
    'https://example.org/?q={{urlencode customMetadata.shelf}}',
    'https://example.org/?q=B%20%26%20W',
  ]),
  helper('html', 'Escapes for use in HTML.', ['{{html customMetadata.shelf}}', 'B &amp; W']),
  helper('length', 'Counts characters, entries or members.', ['{{length metadata.genres}}', '2']),
  helper('padStart', 'Pads the start to a number of characters (default 2) with a text (default "0").', [
    '{{padStart metadata.number 3}}',
    '007',
  ]),
  helper('math', 'Calculates with two numbers and +, -, *, / or %; writes nothing if the result is not a number.', [
    '{{math series.metadata.totalVolumeCount "-" metadata.number}}',
    '5',
  ]),
  helper('lookup', 'Returns the member with the given name.', ['{{lookup customMetadata "shelf"}}', 'B & W']),
  helper(
    'first',
    'Returns the first entry of a list, or the first n entries or characters.',
    ['{{first metadata.authors}}', 'Ann Writer'],
    ['{{first metadata.title 3}}', 'the'],
  ),
  helper('json', 'Writes the value as JSON.', ['{{json metadata.genres}}', '["Drama","Travel"]']),
  helper(
    'formatDate',
    'Formats a date (UTC) with YYYY, YY, MMMM, MMM, MM, M, DD, D, HH, mm and ss; default YYYY-MM-DD.',
    ['{{formatDate customMetadata.bought}}', '2024-03-09'],
    ['{{formatDate customMetadata.bought "D MMMM YYYY"}}', '9 March 2024'],
  ),
  helper(
    'exists',
    'Tests whether a value exists; 0 and false do.',
    ['{{#if (exists metadata.manga)}}said{{/if}}', 'said'],
    ['{{#exists metadata.publisher}}yes{{else}}no{{/exists}}', 'no'],
  ),
  helper('ifEquals', 'Tests whether two values are equal; a number equals its text.', [
    '{{#ifEquals metadata.number "7"}}seven{{/ifEquals}}',
    'seven',
  ]),
  helper('ifNotEquals', 'Tests whether two values differ.', ['{{#ifNotEquals metadata.number 8}}not eight{{/ifNotEquals}}', 'not eight']),
  helper('gt', 'Tests whether the first value is greater.', ['{{#if (gt metadata.year 1990)}}late{{else}}early{{/if}}', 'late']),
  helper('lt', 'Tests whether the first value is smaller.', ['{{#lt metadata.year 1990}}early{{else}}late{{/lt}}', 'late']),
  helper('and', 'Tests whether all values are truthy.', [
    '{{#if (and metadata.title metadata.publisher)}}both{{else}}not both{{/if}}',
    'not both',
  ]),
  helper('or', 'Tests whether at least one value is truthy.', ['{{#if (or metadata.title metadata.publisher)}}one{{/if}}', 'one']),
  helper(
    'includes',
    'Tests whether a list contains an entry, or a text contains another.',
    ['{{#includes metadata.genres "Drama"}}drama{{/includes}}', 'drama'],
    ['{{#if (includes metadata.summary "walk")}}on foot{{/if}}', 'on foot'],
  ),
]
