/** Writes the generated tables and pages of docs/: `npm run readme`. A test fails when they are stale. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderLimits } from '#api/docs/limits-page.ts'
import { renderConditionTables } from '#core/catalog/filter-text.ts'
import { renderAgeRatings } from '#core/fields/age-rating.ts'
import { renderSettingsTable } from '#core/settings/settings-text.ts'
import { renderTemplatePage } from '#plugins/templates/template-page.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** The pages with generated tables, and the pages that are generated as a whole; `present` is empty if the page is missing. */
export function freshPages(): { path: string; present: string; fresh: string }[] {
  const present = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const templates = pathOf('docs/templates.md')
  const limits = pathOf('docs/limits.md')
  const withTable = (path: string, name: string, table: string) => {
    const page = present(path)
    const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    const [from, to] = [page.indexOf(begin), page.lastIndexOf(end)]
    // A page without the markers of the table stays unchanged.
    const fresh = from < 0 || to < from ? page : `${page.slice(0, from + begin.length)}\n${table.trim()}\n${page.slice(to)}`
    return { path, present: page, fresh }
  }
  return [
    withTable(pathOf('docs/settings.md'), 'settings', renderSettingsTable()),
    withTable(pathOf('docs/api.md'), 'conditions', renderConditionTables()),
    withTable(pathOf('docs/sharing.md'), 'ratings', renderAgeRatings()),
    { path: limits, present: present(limits), fresh: renderLimits(present(limits), (path) => present(pathOf(path))) },
    { path: templates, present: present(templates), fresh: renderTemplatePage() },
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, fresh } of freshPages()) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, fresh)
  }
}
