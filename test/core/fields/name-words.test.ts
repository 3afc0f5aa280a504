import { readFileSync } from 'node:fs'
import t from 'tap'
import { NAME_WORDS, wordsBefore } from '#core/fields/name-words.ts'

const ROLES = ['volume', 'chapter', 'season', 'part', 'issue'] as const

t.test('the documentation shows the words of every language', async (t) => {
  const page = readFileSync(new URL('../../../docs/series.md', import.meta.url), 'utf8')
  for (const { language, before, behind } of NAME_WORDS) {
    const cells = ROLES.map((role) => [...(before?.[role] ?? []), ...(behind?.[role] ?? []).map((word) => `…${word}`)].join(', '))
    t.ok(page.includes(`| ${[language, ...cells].join(' | ')} |\n`), `docs/series.md: | ${[language, ...cells].join(' | ')} |`)
  }
})

t.test('the longest word comes first, and each once', async (t) => {
  const words = wordsBefore('volume')
  t.ok(words.indexOf('volumes') < words.indexOf('vol'))
  t.equal(new Set(words).size, words.length)
})
