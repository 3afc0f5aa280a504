import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readSources, type SourceFile, sourcePaths } from '#test/support/architecture.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const PRINTER = 'core/foundation/stranger-text.ts'
/** `escaped` is for HTML. */
const PRINTERS = /\b(quotedText|escapedText|escapedLines|briefText|strangerLines|clean|escaped)\(/

/** Files that remove characters from what they store, or write for another program. Nothing of them is printed beside words of ours. */
const OTHERS = new Set([
  ...['core/account/user.ts', 'core/exports/export-format.ts', 'core/reading/archive-names.ts', 'core/foundation/name-text.ts'],
  ...['core/matching/plain-text.ts', 'core/shelves/import-reading-list.ts', 'plugins/devkit/types-command.ts', 'plugins/host/results.ts'],
])
/** The only files that write to a terminal: the question for a password is ours, and the others escape every line. */
const WRITERS = new Set(['api/main.ts', 'api/cli/password-input.ts', 'plugins/devkit/main.ts'])

/** Words of an author, a repository or a service, in a text of ours. */
const WORDS =
  /\$\{(?:[^{}]|\{[^{}]*\})*\b(?:(?:manifest|provider|offer)\??\.(?:name|summary|description)|(?:match|result|record)\??\.title|outcome\.connected|author\??\.(?:url|name)\b)(?:[^{}]|\{[^{}]*\})*\}/g
/** The same words in a variable. */
const TAKEN =
  /\bmanifest: \{[^{}]*\bname\b|\{[^{}]*\bname\b[^{}]*\} = [\w.]*(?:manifest|provider|repository)\b|\{[^{}]*\bname\b[^{}]*\}: (?:Provider|Manifest)\b/
const NAME = /\$\{name\}/g
/** Messages of errors that the code of a plugin may have thrown. */
const ERRORS = /\$\{(?:error|failure|reported)\.message\}/g
/** In words: a key for sorting, and an author of a book. */
const IS_KEY = /toLowerCase\(\)|\.role\}/

function findPrintedWords({ path, text }: SourceFile): string[] {
  const problems: string[] = []
  if (/\\u202[0-9a-e]/.test(text.replaceAll(/'[^'\n]*such as[^'\n]*'/g, '')) && path !== PRINTER && !OTHERS.has(path))
    problems.push(`${path}: ${PRINTER} knows which characters are escaped`)
  if (/process\.std(out|err)\.write|console\.(log|error|warn)/.test(text) && !WRITERS.has(path))
    problems.push(`${path} writes to a terminal`)
  const isTaken = TAKEN.test(text)
  for (const line of text.split('\n'))
    for (const [found] of [
      ...line.matchAll(isTaken ? NAME : /(?!)/g),
      ...line.matchAll(/^(api|plugins|core\/(matching|recommendations))\//.test(path) ? WORDS : /(?!)/g),
      ...line.matchAll(/^plugins\/host\//.test(path) ? ERRORS : /(?!)/g),
    ])
      if (!PRINTERS.test(found) && !IS_KEY.test(line) && !/(clean|escapedText|escapedLines|quotedText)\(/.test(line))
        problems.push(`${path}: ${found} is of a stranger; print it by ${PRINTER}`)
  return problems
}

t.test('there is one printer of strangers’ words', async (t) => {
  const ours = sourcePaths(root).filter((path) => /^(api|core|plugins)\/.*\.ts$/.test(path) && !/\/(bundled|guest|runner)\//.test(path))
  t.same(readSources(root, ours).flatMap(findPrintedWords), [])
})

t.test('words of a stranger outside the printer are found', async (t) => {
  const count = (path: string, text: string) => findPrintedWords({ path, text }).length
  const inText = (code: string) => ['refuse(`It is $', `{${code}}`, '`)'].join('')
  t.equal(count('api/rest/a.ts', inText('plugin.manifest.name')), 1)
  t.equal(count('api/cli/a.ts', inText('author.name')), 1)
  t.equal(count('api/views/a.ts', inText('outcome.connected')), 1)
  t.equal(count('core/matching/a.ts', inText('match.title')), 1)
  for (const taken of ['const { auth, name } = plugin.manifest', 'const f = ({ manifest: { name } }: A) =>', 'f({ name }: Provider) {'])
    t.equal(count('plugins/host/a.ts', [taken, inText('name')].join('; ')), 1, taken)
  t.equal(count('plugins/host/a.ts', inText('error.message')), 1)
  t.equal(count('plugins/devkit/a.ts', 'process.stdout.write(text)'), 1)
  t.equal(count('plugins/logs/a.ts', 'const UNSAFE = /[\\u202a-\\u202e]/'), 1)
  t.equal(count('api/rest/a.ts', inText('quotedText(plugin.manifest.name)')), 0)
})
