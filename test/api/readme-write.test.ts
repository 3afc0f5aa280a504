import t from 'tap'
import { freshReadme } from '#api/readme-write.ts'
import { SETTINGS } from '#core/setting/setting-table.ts'

t.test('the settings table of the README is the one of the code', async (t) => {
  const { present, fresh } = freshReadme()
  t.equal(present, fresh, 'write it again with: npm run readme')
  const rows = /<!-- settings -->([\s\S]*)<!-- \/settings -->/.exec(present)?.[1]?.trim().split('\n') ?? []
  t.equal(rows.length, SETTINGS.length + 2, 'one row for each, below the two of the head')
})
