/** Writes the generated tables into README.md and the generated pages of docs/: `npm run readme`. A test fails when they are stale. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderSettingsTable } from '#core/setting/settings-text.ts'
import { renderTemplatePage } from '#plugins/template/template-page.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** The README with its settings table made anew, and every page that is made as a whole; `present` is empty for one that is not there. */
export function freshPages(): { path: string; present: string; fresh: string }[] {
  const present = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const readme = pathOf('README.md')
  const templates = pathOf('docs/templates.md')
  return [
    {
      path: readme,
      present: present(readme),
      fresh: present(readme).replace(
        /<!-- settings -->[\s\S]*<!-- \/settings -->/,
        `<!-- settings -->\n${renderSettingsTable().trim()}\n<!-- /settings -->`,
      ),
    },
    { path: templates, present: present(templates), fresh: renderTemplatePage() },
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, fresh } of freshPages()) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, fresh)
  }
}
