import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { commands } from '#api/cli/commands.ts'
import { freshPages } from '#api/readme-write.ts'
import { FILTER_FIELDS } from '#core/catalog/filter-column-query.ts'
import { settingFlags } from '#core/settings/read-settings.ts'
import { SETTINGS } from '#core/settings/setting-table.ts'
import { root } from '#test/support/carrel-process.ts'

t.test('generated pages are those of the code', async (t) => {
  const pages = freshPages()
  for (const { path, present, fresh } of pages) t.equal(present, fresh, `${path}: write it again with: npm run readme`)
  const rows =
    /<!-- settings -->([\s\S]*)<!-- \/settings -->/
      .exec(pages[0]?.present ?? '')?.[1]
      ?.trim()
      .split('\n') ?? []
  t.equal(rows.length, SETTINGS.length + 2, 'one row for each setting, below the two of the head')
  const [, api] = pages
  for (const [target, fields] of Object.entries(FILTER_FIELDS))
    for (const name of Object.keys(fields)) t.match(api?.present, `| \`${name}\` | `, `a condition of ${target} may name ${name}`)
})

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...globSync('docs/*.md', { cwd: root })]

/** Links of GitHub into a page. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found)

t.test('what pages name is there: other pages, files, flags, scripts and commands', async (t) => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const flags = [
    ...settingFlags().flatMap(({ name, isSwitch }) => (isSwitch ? [name, `no-${name}`] : [name])),
    ...commands.flatMap(({ flags }) => flags.map(({ name }) => name)),
    'help',
  ]
  for (const page of PAGES) {
    const text = readFileSync(path.join(root, page), 'utf8')
    const missing: string[] = []
    const prose = text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, 'code')
    for (const link of all(prose, /\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path.join(root, page) : path.resolve(root, path.dirname(page), file)
      const isThere =
        existsSync(target) &&
        (anchor === undefined ||
          all(readFileSync(target, 'utf8'), /^#+ (.+)$/gm)
            .map(anchorOf)
            .includes(anchor))
      if (!isThere) missing.push(link)
    }
    for (const file of all(text, /`((?:api|core|workers|plugins|plugin-sdk|migrations|test|bench)\/[\w./*-]*)`/g))
      if (globSync(file, { cwd: root }).length === 0) missing.push(file)
    for (const script of all(text, /npm run ([a-z][\w:-]*)/g)) if (scripts[script] === undefined) missing.push(`npm run ${script}`)
    for (const words of all(text, /npm run carrel -- ([a-z][a-z -]*[a-z])/g))
      if (!commands.some(({ name }) => `${words} `.startsWith(`${name} `))) missing.push(`carrel ${words}`)
    if (/^[A-Z]+\.md$|(plugins|recommendations|security|settings|commands)\.md$/.test(page))
      for (const flag of all(text, /`--([a-z][a-z0-9-]*)/g)) if (!flags.includes(flag)) missing.push(`--${flag}`)
    t.same(missing, [], page)
  }
})

t.test('the README is short and leads to every page', async (t) => {
  const readme = readFileSync(path.join(root, 'README.md'), 'utf8')
  t.ok(readme.trimEnd().split('\n').length <= 100, 'at most 100 lines')
  t.same(
    PAGES.filter((page) => page !== 'README.md' && !readme.includes(`](${page})`)),
    [],
  )
})

t.test('the page on security names tests that are there', async (t) => {
  const page = readFileSync(path.join(root, 'docs', 'security.md'), 'utf8')
  const tests = new Set(all(page, /`(test\/[^`]+\.test\.ts)`/g))
  t.ok(tests.size > 20)
  t.same(
    [...tests].filter((file) => !existsSync(path.join(root, file))),
    [],
  )
})
