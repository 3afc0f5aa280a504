import t from 'tap'
import { freshPages } from '#api/readme-write.ts'
import { SETTINGS } from '#core/setting/setting-table.ts'

t.test('generated pages are those of the code', async (t) => {
  const pages = freshPages()
  for (const { path, present, fresh } of pages) t.equal(present, fresh, `${path}: write it again with: npm run readme`)
  const rows =
    /<!-- settings -->([\s\S]*)<!-- \/settings -->/
      .exec(pages[0]?.present ?? '')?.[1]
      ?.trim()
      .split('\n') ?? []
  t.equal(rows.length, SETTINGS.length + 2, 'one row for each setting, below the two of the head')
})
