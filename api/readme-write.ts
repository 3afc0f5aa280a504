/** Writes the generated tables into README.md: `npm run readme`. A test fails when they are stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderSettingsTable } from '#core/setting/settings-text.ts'

const path = fileURLToPath(new URL('../README.md', import.meta.url))

/** The README with its settings table made anew. */
export function freshReadme(): { path: string; present: string; fresh: string } {
  const present = readFileSync(path, 'utf8')
  const fresh = present.replace(
    /<!-- settings -->[\s\S]*<!-- \/settings -->/,
    `<!-- settings -->\n${renderSettingsTable().trim()}\n<!-- /settings -->`,
  )
  return { path, present, fresh }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(path, freshReadme().fresh)
