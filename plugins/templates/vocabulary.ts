/** Describes a helper of templates for the documentation; tests run the examples. */
export interface HelperDoc {
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

/** Every helper, by what it is for. Those that answer yes or no stand as a block with {{else}}, or inside of others in parentheses. */
export const HELPER_DOCS: readonly HelperDoc[] = [
  helper('if', 'The block when the value is something; nothing, an empty text, 0 and an empty list are not.', [
    '{{#if metadata.publisher}}known{{else}}unknown{{/if}}',
    'unknown',
  ]),
  helper('unless', 'The block when the value is nothing.', ['{{#unless metadata.manga}}western{{/unless}}', 'western']),
  helper('with', 'The block with the value as its context.', [
    '{{#with series.metadata}}{{title}} of {{../metadata.year}}{{/with}}',
    'Homecoming of 1999',
  ]),
  helper('each', 'The block for every entry of a list or an object, with @index, @key, @first and @last.', [
    '{{#each metadata.authors}}{{name}}{{#unless @last}} and {{/unless}}{{/each}}',
    'Ann Writer and Bo Inker',
  ]),
  helper('lowercase', 'Small letters.', ['{{lowercase series.metadata.title}}', 'homecoming']),
  helper('uppercase', 'Capital letters.', ['{{uppercase metadata.title}}', 'THE LONG WAY HOME']),
  helper('capitalize', 'A capital at the beginning of each word.', ['{{capitalize metadata.title}}', 'The Long Way Home']),
  helper('trim', 'Without spaces at both ends.', ['[{{trim "  a b  "}}]', '[a b]']),
  helper(
    'truncate',
    'At most so many characters (100 unless said), and what stands for the rest ("..." unless said).',
    ['{{truncate metadata.summary 11}}', 'Two friends...'],
    ['{{truncate metadata.summary 3 "…"}}', 'Two…'],
  ),
  helper('replace', 'Every place where a text stands, replaced by another.', [
    '{{replace metadata.title "home" "back"}}',
    'the long way back',
  ]),
  helper(
    'split',
    'The parts between a separator; one of them when its index is given, from the end when it is negative.',
    ['{{split metadata.isbns ", " 1}}', '0306406152'],
    ['{{length (split metadata.title " ")}}', '4'],
  ),
  helper(
    'join',
    'The entries of a list as one text; people by their names.',
    ['{{join metadata.genres " / "}}', 'Drama / Travel'],
    ['{{join metadata.authors}}', 'Ann Writer, Bo Inker'],
  ),
  helper('default', 'The first value that is not nothing.', ['{{default metadata.publisher "unknown"}}', 'unknown']),
  helper('urlencode', 'As a part of an address.', [
    'https://example.org/?q={{urlencode customMetadata.shelf}}',
    'https://example.org/?q=B%20%26%20W',
  ]),
  helper('html', 'Safe inside of HTML.', ['{{html customMetadata.shelf}}', 'B &amp; W']),
  helper('length', 'How many characters, entries or members.', ['{{length metadata.genres}}', '2']),
  helper('padStart', 'At least so many characters (2 unless said), filled up in front ("0" unless said).', [
    '{{padStart metadata.number 3}}',
    '007',
  ]),
  helper('math', 'Two numbers with +, -, *, / or %; nothing where that is no number.', [
    '{{math series.metadata.totalVolumeCount "-" metadata.number}}',
    '5',
  ]),
  helper('lookup', 'A member by a name that is in a value.', ['{{lookup customMetadata "shelf"}}', 'B & W']),
  helper(
    'first',
    'The first entry of a list, or the first so many of a list or a text.',
    ['{{first metadata.authors}}', 'Ann Writer'],
    ['{{first metadata.title 3}}', 'the'],
  ),
  helper('json', 'As JSON.', ['{{json metadata.genres}}', '["Drama","Travel"]']),
  helper(
    'formatDate',
    'A date (UTC) in a form made of YYYY, YY, MMMM, MMM, MM, M, DD, D, HH, mm and ss; YYYY-MM-DD unless said.',
    ['{{formatDate customMetadata.bought}}', '2024-03-09'],
    ['{{formatDate customMetadata.bought "D MMMM YYYY"}}', '9 March 2024'],
  ),
  helper(
    'exists',
    'Whether a value is something; 0 and false are.',
    ['{{#if (exists metadata.manga)}}said{{/if}}', 'said'],
    ['{{#exists metadata.publisher}}yes{{else}}no{{/exists}}', 'no'],
  ),
  helper('ifEquals', 'Whether two values are the same; a number and its text are.', [
    '{{#ifEquals metadata.number "7"}}seven{{/ifEquals}}',
    'seven',
  ]),
  helper('ifNotEquals', 'Whether two values differ.', ['{{#ifNotEquals metadata.number 8}}not eight{{/ifNotEquals}}', 'not eight']),
  helper('gt', 'Whether the first is greater.', ['{{#if (gt metadata.year 1990)}}late{{else}}early{{/if}}', 'late']),
  helper('lt', 'Whether the first is smaller.', ['{{#lt metadata.year 1990}}early{{else}}late{{/lt}}', 'late']),
  helper('and', 'Whether all values are something.', [
    '{{#if (and metadata.title metadata.publisher)}}both{{else}}not both{{/if}}',
    'not both',
  ]),
  helper('or', 'Whether one value is something.', ['{{#if (or metadata.title metadata.publisher)}}one{{/if}}', 'one']),
  helper(
    'includes',
    'Whether a list has an entry, or a text a part.',
    ['{{#includes metadata.genres "Drama"}}drama{{/includes}}', 'drama'],
    ['{{#if (includes metadata.summary "walk")}}on foot{{/if}}', 'on foot'],
  ),
]
