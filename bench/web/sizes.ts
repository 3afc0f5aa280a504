import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import type { WebFigures } from '#bench/web/figures.ts'

/** The manifest of Vite: by source, which files a page loads. */
type BuiltFiles = Record<string, { file: string; imports?: string[]; dynamicImports?: string[]; css?: string[]; src?: string }>

/** The application and the home page. The administration may have one page or several. */
const FIRST = ['index.html', 'src/pages/home/home-page.tsx']
const PAGE_READER = ['src/reader/read-page.tsx', 'src/reader/pages/page-reader.tsx']
const TEXT_READER = ['src/reader/read-page.tsx', 'src/reader/epub/text-reader.tsx', 'node_modules/foliate-js/paginator.js']

/** Sizes of what a browser loads, as it loads them: gzip, in thousands of bytes. @param folder of the built interface */
export function measureSizes(folder: string, figures: WebFigures): void {
  const files = JSON.parse(readFileSync(path.join(folder, 'files.json'), 'utf8')) as BuiltFiles
  const theme = readdirSync(path.join(folder, 'assets')).filter((name) => /^theme-.*\.js$/.test(name))
  const first = closureOf(files, FIRST)
  for (const name of theme) first.add(`assets/${name}`)
  const kilobytes = (names: Iterable<string>, ending: string) =>
    [...names].filter((name) => name.endsWith(ending)).reduce((sum, name) => sum + gzipBytes(path.join(folder, name)), 0) / 1000
  const beyond = (entries: readonly string[]) => [...closureOf(files, entries)].filter((name) => !first.has(name))
  figures.add('initial JavaScript, gzip KB', kilobytes(first, '.js'))
  figures.add('initial CSS, gzip KB', kilobytes(first, '.css'))
  figures.add('reader of pages, gzip KB more', kilobytes(beyond(PAGE_READER), '.js'))
  figures.add('reader of EPUB, gzip KB more', kilobytes(beyond(TEXT_READER), '.js'))
  const admin = Object.keys(files).filter((source) => source.startsWith('src/admin/'))
  if (admin.length === 0)
    throw new Error(`${folder}/files.json has no entry below src/admin/: name where the administration is now in bench/web/sizes.ts`)
  for (const source of admin) figures.add('administration, gzip KB more', kilobytes(beyond([source]), '.js'))
}

/** The files of these entries and of all that they import at once. @throws for an entry that is not there any more */
function closureOf(files: BuiltFiles, entries: readonly string[]): Set<string> {
  const names = new Set<string>()
  const visited = new Set<string>()
  const visit = (key: string) => {
    if (visited.has(key)) return
    visited.add(key)
    const entry = files[key]
    if (!entry) throw new Error(`files.json of the build has no entry ${key}: correct the entries in bench/web/sizes.ts`)
    names.add(entry.file)
    for (const css of entry.css ?? []) names.add(css)
    for (const each of entry.imports ?? []) visit(each)
  }
  for (const each of entries) visit(each)
  return names
}

const gzipBytes = (file: string): number => (existsSync(`${file}.gz`) ? readFileSync(`${file}.gz`) : gzipSync(readFileSync(file))).length
