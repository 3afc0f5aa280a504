import { type ContextKind, listFields } from '#core/conditions/fields.ts'
import { DEPTH_MAX, OPERATORS, RULES_MAX } from '#core/conditions/operators.ts'
import { EXAMPLE_CONTEXT, HELPER_DOCS } from '#plugins/templates/vocabulary.ts'

const cell = (text: string) => text.replaceAll('|', '\\|')

/** The page of the documentation about templates and conditions, as Markdown: made from the schemas, the helpers and their examples. */
export const renderTemplatePage = (): string =>
  [
    TEMPLATES,
    helpers(),
    conditions(),
    KEYS,
    `## Fields of a book\n\n${fieldTable('book')}\n`,
    `## Fields of a series\n\n${fieldTable('series')}\n`,
  ].join('\n')

const TEMPLATES = `# Templates and conditions

<!-- Written by "npm run readme" from the schemas and the helpers; change those. -->

Plugins and administrators ask things of a book or a series with **templates** (Handlebars) and **conditions** (rules). Both see the same
*context*: \`GET /api/v1/books/{bookId}/context\` and \`GET /api/v1/series/{seriesId}/context\` answer it for any book or series.

Try them out: \`POST /api/v1/templates/render\`, \`POST /api/v1/templates/validate\`, \`POST /api/v1/conditions/evaluate\`.

## Templates

\`{{metadata.title}}\` writes a field. What is missing writes nothing. Nothing is escaped: \`{{html …}}\` does so where the text goes into HTML.
A list of people writes their names, any other list its entries, with commas.

| Way | Meaning |
|---|---|
| \`{{metadata.title}}\` | a field |
| \`{{series.metadata.title}}\` | a field of the series of a book |
| \`{{metadata.authors.0.name}}\`, \`{{metadata.genres.[0]}}\` | an entry of a list; a number at the end stands in brackets |
| \`{{externalIds.plugin:anilist.id}}\` | an identifier; its name may hold colons and dots |
| \`{{externalIds.[plugin:anilist].id}}\` | the same |
| \`{{customMetadata.shelf}}\` | a field of your own, spelled as you spelled it |
| \`{{#each metadata.authors}}{{name}}{{/each}}\` | every entry; \`../\` leads out of it, \`@root\` to the whole context |

Partials, decorators and prototypes of objects are not available.

Limits, for each rendering: 50 ms of computing time, ${64} KB of template, 256 K characters of output. What breaks one is stopped and says so.
`

const helpers = () => `### Helpers

The examples are rendered over this context:

\`\`\`json
${JSON.stringify(EXAMPLE_CONTEXT, null, 2)}
\`\`\`

| Helper | What it does | Example | Writes |
|---|---|---|---|
${HELPER_DOCS.flatMap(({ name, about, examples }) =>
  examples.map(
    ({ template, output }, index) =>
      `| ${index === 0 ? `\`${name}\`` : ''} | ${index === 0 ? cell(about) : ''} | \`${cell(template)}\` | \`${cell(output)}\` |`,
  ),
).join('\n')}
`

const conditions = () => `## Conditions

\`\`\`json
{ "mode": "all", "rules": [
  { "field": "metadata.year", "operator": "gte", "value": 1990 },
  { "mode": "any", "rules": [
    { "field": "metadata.genres", "operator": "contains", "value": "Drama" },
    { "field": "externalIds.plugin:anilist", "operator": "is_null" } ] } ] }
\`\`\`

Operators: ${OPERATORS.map((operator) => `\`${operator}\``).join(', ')}.

- A condition without rules passes. Rules may hold conditions of their own, ${DEPTH_MAX} deep, ${RULES_MAX} rules in all.
- Text is compared without regard to case, save by \`matches\`, which takes a regular expression in RE2 syntax (linear in time).
- Of a list, \`contains\` asks whether something is in it; the other operators hold when one entry fits. \`equals\` compares whole lists.
- Nothing, an empty text and an empty list are null. \`not_equals\`, \`not_contains\` and \`not_in\` are the opposites of their fellows, so what is missing passes them.
- \`externalIds.count\` is how many identifiers there are; \`externalIds.<key>\` is the identifier itself. Names may be written with underscores.
`

const KEYS = `## Keys of identifiers

Identifiers and ratings of services have a **key**, which is the same in contexts, in the API (\`source\` of \`external-ids\` and \`external-ratings\`), and in what plugins are given:

| Key | What it holds |
|---|---|
| \`plugin:anilist\` | what plugins call a book or series by whose manifest says \`"idSource": "anilist"\`; several plugins for one service share it |
| \`plugin:org.example.books\` | the same of a plugin that names no \`idSource\`: its id |
| \`comicinfo\` | the \`GTIN\` of ComicInfo, where it is no ISBN |
| \`goodreads\`, \`api:kitsu\`, … | any other name, as it was sent, or as the file of the book has it |

- A name that comes without \`plugin:\`, from a person, a file or a plugin, gets it where it is the \`idSource\` or the id of a plugin that an administrator has agreed to. Any other stays as it is.
- When a plugin comes later, what is kept under its name gets \`plugin:\` at that moment. Where both are there, what a person gave stays, and of two the newer. Nothing changes when a plugin goes.
- Templates and conditions that write \`externalIds.anilist\` find \`plugin:anilist\` where nothing else has that name; \`templates/validate\` warns of such names, and of keys that no plugin has and nothing is kept under.
`

const fieldTable = (kind: ContextKind) => `| Field | Type | Meaning |
|---|---|---|
${listFields(kind)
  .map(
    ({ path, type, nullable, description }) => `| \`${cell(path)}\` | ${cell(type)}${nullable ? ', or null' : ''} | ${cell(description)} |`,
  )
  .join('\n')}`
