import { readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { findAmbiguity } from '#test/support/ambiguity.ts'
import { readSources } from '#test/support/architecture.ts'
import { findExpressions, recordCreated } from '#test/support/regular-expressions.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const FOLDERS = ['api', 'core', 'migrations', 'plugin-sdk', 'plugins', 'workers']

const sources = readSources(
  root,
  FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|js|mjs)$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((path) => !path.includes('node_modules') && !path.startsWith('plugin-sdk/dist/')),
  ).sort(),
)
const found = sources.map(findExpressions)

const SHORT_PATTERN = 'it reads 200 characters at most, and what follows a backslash or a bracket is for one alternative alone'
const OWN_FILES = 'a developer runs it over files of their own'

/** Expressions that may need more than linear time, and why nobody can make them. */
const ACCEPTED: [path: RegExp, expression: RegExp, reason: string][] = [
  [/^api\/readme-write\.ts$/, /<!-- settings -->[\s\S]*<!-- \/settings -->/, OWN_FILES],
  [/^api\/docs\/limits-page\.ts$/, /([\d.,]+)(?: ([A-Za-z]+))?<!-- (\w+) -->/g, OWN_FILES],
  [/^api\/docs\/limits-page\.ts$/, /^ *(?:export )?(?:const )?(\w+)(?:: number)?(?: =|:) ([\w. *]+),?$/gm, OWN_FILES],
  [/^api\/docs\/limits-page\.ts$/, /^\|.*\|$/gm, OWN_FILES],
  [/^plugin-sdk\/api-page\.mjs$/, /[;}]$|^(type|(export )?declare (function|var)) [^\n]*[^,{(]$/, OWN_FILES],
  [/^plugin-sdk\/api-page\.mjs$/, /^\/\*\*\s?|\s*\*\/$/g, OWN_FILES],
  [/^plugins\/logs\/text\.ts$/, /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g, 'names are cut to 200 characters before'],
  [
    /^plugins\/packages\/plain-json\.ts$/,
    /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]/g,
    'JSON.parse has read the text: every quote that a match can begin with has its other one',
  ],
  [
    /^plugins\/devkit\/source-lines\.ts$/,
    /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\]]|[^\s"{}[\],:]+/g,
    'JSON.parse has read the text, of at most 64 KB',
  ],
  [
    /^plugins\/logs\/text\.ts$/,
    /(?<![\w.-])[\w-]*(?:\.[\w-]*)+/g,
    'it begins only where none of its characters stands before, so each run of them is read once',
  ],
  [
    /^core\/matching\/plain-text\.ts$/,
    /<!--|<(\/?)([a-z][a-z0-9]*)(?![a-z0-9])[^<>]{0,2000}>/gi,
    'the name ends where no letter follows, before the rest begins, and neither holds another <',
  ],
  [
    /^core\/catalog\/search-query\.ts$/,
    /^(?!\*)(?:\[\^?(?:[^[\]\\]|\\[dsw]|\\[^\p{L}\p{N}])+\]|\\[dswDSW]|\\[^\p{L}\p{N}]|\((?!\?)|[^[\](){}\\]|\))*$/u,
    SHORT_PATTERN,
  ],
  [/^plugins\/devkit\//, /^(?:(.+)\((\d+),(\d+)\): )?error (TS\d+): (.*)$/, OWN_FILES],
  [/^plugins\/devkit\//, /.*[\\/]node_modules[\\/](.*)/, OWN_FILES],
  [/^plugins\/devkit\//, /.*\/(node_modules\/.*)/, OWN_FILES],
  [/^plugins\/devkit\//, /\n\/\/# sourceMappingURL=[^\n]*\s*$/, OWN_FILES],
  [/^plugins\/devkit\//, /\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b/, OWN_FILES],
  [/^plugins\/devkit\//, /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/, OWN_FILES],
  [/^plugins\/devkit\//, /([^\s(]+:\d+:\d+)\)?$/, OWN_FILES],
]

/** Where expressions are made when a module is loaded: of constants, and checked as they came out. */
const MADE_ONCE = [
  'core/foundation/schema.ts',
  'core/foundation/stranger-text.ts',
  'core/fields/name-numbers.ts',
  'core/fields/name-series.ts',
  'core/fields/plain-name.ts',
  'core/maintenance/orphans.ts',
  'plugin-sdk/text.ts',
  'plugins/packages/read-manifest.ts',
  'workers/formats/pdf/program-title.ts',
]

/** Where they are made later, and why what comes out is linear. */
const MADE_LATER: [path: RegExp, reason: string][] = [
  [/^core\/scan\/glob\.ts$/, 'one class of characters between ^ and $, its brackets and backslashes escaped'],
  [/^plugins\/bundled\/[\w-]+\/(records\.ts|main\.js)$/, 'constants of the file; runs in the isolate of the plugin'],
  [/^core\/catalog\/search-query\.ts$/, 'only its syntax is checked: it is never applied to a text'],
  [/^plugins\/network\/masking\.ts$/, 'texts of eight characters side by side, with what is special escaped'],
  [/^plugins\/host\/results\.ts$/, 'the names of members in schemas of the same file: one class of characters between ^ and $'],
  [/^plugins\/runtime\/(guest\/web\/clone\.ts|runner\/bundled\/web\/main\.js)$/, 'a copy of an expression of the code in the same isolate'],
  [/^plugins\/devkit\//, OWN_FILES],
]

const isSame = (one: RegExp, other: RegExp) => one.source === other.source && one.flags === other.flags

t.test('no regular expression takes more than linear time for a text that has no bound', async (t) => {
  t.ok(sources.length > 300 && found.flatMap(({ literals }) => literals).length > 400, 'the walk finds the code')
  for (const { path, line, expression } of found.flatMap(({ literals }) => literals)) {
    const kind = findAmbiguity(expression)
    const accepted = ACCEPTED.some(([where, what]) => where.test(path) && isSame(what, expression))
    if (kind !== null && !accepted) t.fail(`${path}:${line}: ${expression} is ${kind}; rewrite it, or bound its text and say so here`)
  }
})

t.test('expressions that are put together are few, and linear as well', async (t) => {
  for (const { path, line, code } of found.flatMap(({ made }) => made)) {
    const known = MADE_ONCE.includes(path) || MADE_LATER.some(([where]) => where.test(path))
    if (!known) t.fail(`${path}:${line}: ${code.slice(0, 80)}: write it as a literal, or say here why what comes out is linear`)
  }
  for (const path of MADE_ONCE) {
    const made = await recordCreated(() => import(`${pathToFileURL(join(root, path)).href}?recorded`))
    t.ok(made.length > 0, path)
    for (const expression of made) t.equal(findAmbiguity(expression), null, `${path}: ${expression}`)
  }
})

t.test('an expression that needs more than linear time is found', async (t) => {
  const table: [expression: RegExp, kind: ReturnType<typeof findAmbiguity>][] = [
    // A title of dashes, and a log line of `eyJeyJeyJ…`: both stopped the server once.
    [/^\s*(?:(?:vol(?:ume)?|v|ch(?:apter)?|c|issue|part|ep(?:isode)?|no|nr|number)?[\s.:#_-]*)*\d+(?:\.\d+)?\s*$/i, 'exponential'],
    [/\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, 'polynomial'],
    [/^(?:(?:\[[^\]]*\]?|[^:[])*)(?::([\s\S]*))?$/, 'exponential'],
    [/^(a*)*$/, 'exponential'],
    [/^(a|a)*$/, 'exponential'],
    [/^(a|aa)+$/, 'exponential'],
    [/^(\w+\s?)*$/, 'exponential'],
    [/^(?:a{1,9}){1,50}$/, 'exponential'],
    [/^(?:[a-z]+[A-Z]*)*$/i, 'exponential'],
    [/(?=(a+)+b)c/, 'exponential'],
    [/\s+$/, 'polynomial'],
    [/<!--[\s\S]*?-->/g, 'polynomial'],
    [/^a*a*$/, 'polynomial'],
    [/^a*[ab]?a*$/, 'polynomial'],
    [/^\d+\s*,?\s*\d+x$/, 'polynomial'],
    [/a{0,5000}b/, 'polynomial'],
    [/(?<=a+)b/, 'polynomial'],
    [/^\s*$/m, 'polynomial'],
    [/^a*b*$/, null],
    [/^\d+(?:\.\d+)?$/, null],
    [/[^a-z]+/g, null],
    [/^"(?:[^"\\]|\\.)*"$/, null],
    [/^[^@]+@[^@]+$/, null],
    [/^(?:\d{1,3}\.){3}\d{1,3}$/, null],
    [/a{0,500}b/, null],
    [/\b(?:cat|dog)s?\b/, null],
    [/^(\w+)(?:,\w+)*$/, null],
  ]
  for (const [expression, kind] of table) t.equal(findAmbiguity(expression), kind, String(expression))
  const code = 'const a: RegExp = /x+$/ // "/y+$/"\nconst b = "/z+$/"; RegExp(a.source); new RegExp(b); const c = { pattern: "^v+$" }'
  const { literals, made } = findExpressions({ path: 'x.ts', text: code })
  t.same(
    literals.map(({ line, expression }) => `${line} ${expression}`),
    ['1 /x+$/', '2 /^v+$/u'],
    'none in texts and comments',
  )
  t.match(made, [
    { line: 2, code: 'RegExp(a.source)' },
    { line: 2, code: 'new RegExp(b)' },
  ])
})
