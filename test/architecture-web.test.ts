import { readdirSync } from 'node:fs'
import { dirname, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findCycles, importsOf, readSources, type SourceFile } from '#test/support/architecture.ts'

const sources = fileURLToPath(new URL('../web/src', import.meta.url))

/** Each folder may import those before it; the document of the architecture has the same list. */
const ORDER = ['texts', 'api', 'parts', 'reader', 'pages', 'admin', 'app']
const LINES_MAX = 400
const FUNCTION_LINES_MAX = 60
const FOLDER_FILES_MAX = 45

const paths = readdirSync(sources, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(tsx?|js|css)$/.test(entry.name) && entry.name !== 'schema.d.ts')
  .map((entry) => `${entry.parentPath}/${entry.name}`.slice(sources.length + 1))
  .sort()
const files = readSources(sources, paths)

const folderOf = (path: string): string => path.split('/')[0] as string

/** The path of an imported file below web/src; null for a package. */
function targetOf(from: string, specifier: string): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1)
  return specifier.startsWith('.') ? posix.normalize(posix.join(dirname(from), specifier)) : null
}

/** Imports against the order of folders. */
function findDisorder(given: readonly SourceFile[]): string[] {
  return given.flatMap(importsOf).flatMap(({ from, specifier }) => {
    const target = targetOf(from, specifier)
    if (target === null || ORDER.indexOf(folderOf(target)) <= ORDER.indexOf(folderOf(from))) return []
    return [`${from} imports ${target}`]
  })
}

/** Functions at the start of a line that end at a brace at the start of a line, as the formatter writes them, with more lines than a screen. */
function findLong({ path, text }: SourceFile): string[] {
  const lines = text.split('\n')
  return lines.flatMap((line, begin) => {
    if (!/^(export )?(default )?(async )?(function|const \w+ = .*=> \{$)/.test(line)) return []
    const count = lines.slice(begin).findIndex((each) => each.startsWith('}')) + 1
    return count > FUNCTION_LINES_MAX ? [`${path}:${begin + 1} has a function of ${count} lines, ${FUNCTION_LINES_MAX} at most`] : []
  })
}

/** Texts about plugins have what strangers chose: names, summaries, titles of what they recommend, names at services. */
const PLUGIN_TEXTS = /^texts\/(?:plugins|recommendations)\.ts$/
const UNQUOTED = /(?<!")\{(?:name|words|plugin|title)\}|\{(?:name|words|plugin|title)\}(?!")/
/** The pages that show them, where none is put together with words of ours beside the texts. */
const PLUGIN_PAGES = /^pages\/(?:profile\/plugins|recommendations)\//
const JOINED = /`[^`]*\$\{[^}]*\b(?:name|title|description|summary|reason|externalUsername)\}[^`]*`/

function findStrangers({ path, text }: SourceFile): string[] {
  const pattern = PLUGIN_TEXTS.test(path) ? UNQUOTED : PLUGIN_PAGES.test(path) ? JOINED : /(?!)/
  return text
    .split('\n')
    .flatMap((line) => (pattern.test(line) ? [`${path}: ${line.trim()} has words of a stranger outside of "{…}"`] : []))
}

t.test('The folders of the web interface import one another in their order and without cycles', (t) => {
  t.ok(paths.length > 50, `${paths.length} files`)
  t.same(findDisorder(files), [])
  t.same(findCycles(files), [])
  t.same(
    [...new Set(paths.map(folderOf))].filter((folder) => !ORDER.includes(folder) && !folder.endsWith('.d.ts')),
    [],
  )
  t.same(findDisorder([{ path: 'parts/a.tsx', text: "import { x } from '#pages/x.tsx'\n" }]), ['parts/a.tsx imports pages/x.tsx'])
  t.end()
})

t.test('Files, folders and functions of the web interface have the usual lengths', (t) => {
  const long = files.filter(({ path, text }) => !path.endsWith('.css') && text.split('\n').length > LINES_MAX)
  t.same(
    long.map(({ path }) => path),
    [],
  )
  t.same(files.flatMap(findLong), [])
  const counts = Map.groupBy(paths, (path) => dirname(path))
  t.same(
    [...counts].filter(([, inside]) => inside.length > FOLDER_FILES_MAX).map(([folder]) => folder),
    [],
  )
  t.equal(findLong({ path: 'a.tsx', text: `export function A() {\n${'  f()\n'.repeat(59)}}\n` }).length, 1)
  t.equal(findLong({ path: 'a.tsx', text: `export function A() {\n${'  f()\n'.repeat(58)}}\n` }).length, 0)
  t.end()
})

t.test('The web interface names no address of another server and makes no program from text', (t) => {
  const found = files.flatMap(({ path, text }) => {
    const code = text.replace(/http:\/\/www\.w3\.org\/\d+\/\w+/g, '')
    return /\bnew Function\b|\beval\(|dangerouslySetInnerHTML|["'`(]https?:\/\//.test(code) ? [path] : []
  })
  t.same(found, [])
  t.end()
})

t.test('What authors of plugins and services chose stands in quotation marks in the sentences of the web interface', (t) => {
  t.equal(paths.filter((path) => PLUGIN_TEXTS.test(path)).length, 2)
  t.ok(paths.filter((path) => PLUGIN_PAGES.test(path)).length > 5)
  t.same(files.flatMap(findStrangers), [])
  const count = (path: string, text: string) => findStrangers({ path, text }).length
  t.equal(count('texts/plugins.ts', "agreed: '{name} works for you now',"), 1)
  t.equal(count('texts/plugins.ts', `agreed: '"{name}" works for you now',`), 0)
  t.equal(count('pages/profile/plugins/a.tsx', ['aria-label={`Agree: $', '{name}`}'].join('')), 1)
  t.end()
})
