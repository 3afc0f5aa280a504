import { type ContextKind, listFields } from '#core/conditions/fields.ts'
import { RULE_DEPTH_MAX, RULE_OPERATORS, RULES_MAX } from '#core/conditions/operators.ts'
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

For administrators and authors of plugins. **Templates** (Handlebars) turn the metadata of a book or series into text, such as a search query. **Conditions** (rules) test it. Both use the same
*context*: \`GET /api/v1/books/{bookId}/context\` and \`GET /api/v1/series/{seriesId}/context\` return it for a book or series.

To test them, use \`POST /api/v1/templates/render\`, \`POST /api/v1/templates/validate\`, \`POST /api/v1/conditions/evaluate\`.

## Templates

\`{{metadata.title}}\` writes a field. A missing value writes nothing. Values are not escaped; use \`{{html …}}\` for text in HTML.
A list of people is written as their names, any other list as its entries, separated by commas.

| Expression | Meaning |
|---|---|
| \`{{metadata.title}}\` | a field |
| \`{{series.metadata.title}}\` | a field of the series of a book |
| \`{{metadata.authors.0.name}}\`, \`{{metadata.genres.[0]}}\` | an entry of a list; a number at the end needs brackets |
| \`{{externalIds.plugin:anilist.id}}\` | an identifier; its name may contain colons and dots |
| \`{{externalIds.[plugin:anilist].id}}\` | the same |
| \`{{customMetadata.shelf}}\` | a field of your own, in your spelling |
| \`{{#each metadata.authors}}{{name}}{{/each}}\` | every entry; \`../\` refers to the surrounding context, \`@root\` to the whole context |

Partials, decorators and prototypes of objects are not available.

Limits for each rendering: 50 ms of CPU time, ${64} KB of template, 256 K characters of output. Rendering that exceeds a limit stops with an error that names it.
`

const helpers = () => `### Helpers

The examples use this context:

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

Operators: ${RULE_OPERATORS.map((operator) => `\`${operator}\``).join(', ')}.

- A condition without rules is true. Rules may contain conditions, up to ${RULE_DEPTH_MAX} levels deep and ${RULES_MAX} rules in total.
- Comparison of text is case-insensitive, except for \`matches\`, which takes a regular expression in RE2 syntax (evaluated in linear time).
- For a list, \`contains\` tests whether it has the entry; the other operators are true if one entry matches. \`equals\` compares whole lists.
- Missing values, empty texts and empty lists are null. \`not_equals\`, \`not_contains\` and \`not_in\` negate \`equals\`, \`contains\` and \`in\`, so they are true for a missing value.
- \`externalIds.count\` is the number of identifiers; \`externalIds.<key>\` is the identifier itself. Names may be written with underscores.
`

const KEYS = `## Keys of identifiers

Identifiers and ratings of services have a **key**, which is the same in contexts, in the API (\`source\` of \`external-ids\` and \`external-ratings\`), and in the input of plugins:

| Key | Contents |
|---|---|
| \`plugin:anilist\` | the identifier from plugins whose manifest has \`"idSource": "anilist"\`; several plugins for one service share it |
| \`plugin:org.example.books\` | the identifier from a plugin without an \`idSource\`, under the id of the plugin |
| \`comicinfo\` | the \`GTIN\` of ComicInfo, unless it is an ISBN |
| \`goodreads\`, \`api:kitsu\`, … | any other name, as it was sent or as the book file has it |

- The server adds the prefix \`plugin:\` to a name without it, from a person or a file, if the name is the \`idSource\` or the id of a plugin that an administrator has consented to. It does not change other names.
- When such a plugin is installed later, the server adds the prefix to the entries stored under its name. If entries with and without the prefix exist, the one from a person stays, otherwise the newer one. Uninstalling a plugin changes nothing.
- Templates and conditions that write \`externalIds.anilist\` find \`plugin:anilist\` if nothing else has that name; \`templates/validate\` warns about such names, and about keys that no plugin uses and under which nothing is stored.
`

const fieldTable = (kind: ContextKind) => `| Field | Type | Meaning |
|---|---|---|
${listFields(kind)
  .map(
    ({ path, type, nullable, description }) => `| \`${cell(path)}\` | ${cell(type)}${nullable ? ', or null' : ''} | ${cell(description)} |`,
  )
  .join('\n')}`
