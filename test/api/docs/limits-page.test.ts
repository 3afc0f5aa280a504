import t from 'tap'
import { renderLimits } from '#api/docs/limits-page.ts'

const FILES: Record<string, string> = {
  'core/a.ts': 'const MIB = 1024 * 1024\nexport const ENTRY_BYTES_MAX = 4 * MIB\nconst DEADLINE_MS = 90_000\nconst RATE_MIN = 35_000\n',
  'core/b.ts': 'export const LIMITS = {\n  keptDays: 7,\n  bytesMax: 2 * 1024 ** 3,\n}\nconst ENTRIES_MAX = 100_000\n',
}
const rendered = (limit: string) =>
  renderLimits(`| it | ${limit} | \`core/a.ts\`, \`core/b.ts\` |`, (path) => FILES[path] ?? '').split(' | ')[1]

t.test('a number in the page of limits becomes that of its constant, in the unit of the page', async (t) => {
  t.equal(rendered('1<!-- ENTRIES_MAX --> entries'), '100,000<!-- ENTRIES_MAX --> entries')
  t.equal(
    rendered('1 MiB<!-- ENTRY_BYTES_MAX --> of 1 KB<!-- ENTRY_BYTES_MAX -->'),
    '4 MiB<!-- ENTRY_BYTES_MAX --> of 4,096 KB<!-- ENTRY_BYTES_MAX -->',
  )
  t.equal(
    rendered('2 s<!-- DEADLINE_MS --> or 9 minutes<!-- DEADLINE_MS -->'),
    '90 s<!-- DEADLINE_MS --> or 1.5 minutes<!-- DEADLINE_MS -->',
  )
  t.equal(rendered('1 kB<!-- RATE_MIN --> per second'), '35 kB<!-- RATE_MIN --> per second')
  t.equal(rendered('1 days<!-- keptDays -->, 1 GiB<!-- bytesMax -->'), '7 days<!-- keptDays -->, 2 GiB<!-- bytesMax -->')
  t.equal(rendered('20 of anything'), '20 of anything', 'a number without a name stays')
})

t.test('a constant that no file of the row declares, and an unknown unit, are refused', async (t) => {
  t.throws(() => rendered('1<!-- ELSEWHERE -->'), /names ELSEWHERE, which no file of its row declares/)
  t.throws(() => rendered('1 furlongs<!-- ENTRIES_MAX -->'), /shows ENTRIES_MAX in furlongs, which is none of: ms, s, minutes/)
})
