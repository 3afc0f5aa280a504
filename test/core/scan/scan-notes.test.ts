import t from 'tap'
import { describeNotes, ScanNotes } from '#core/scan/scan-notes.ts'

const NOTHING = { changed: [], unchanged: [], unchangedFiles: 0, unchangedRootFiles: 0, seriesFiles: [], unreadable: [], devices: [] }

t.test('links and names are counted, and the first ones are listed', async (t) => {
  const notes = new ScanNotes()
  const symlinks = Array.from({ length: 7 }, (_, index) => `link ${index}`)
  const alike = Array.from({ length: 21 }, (_, index): [string, string] => [`Saga ${index}`, `SAGA ${index}`])
  notes.add({ ...NOTHING, symlinks, alike, followed: [], leftOut: [] })
  notes.add({ ...NOTHING, symlinks: ['last'], alike: [['Cafe\u0301', 'Café']], followed: [{ path: 'a', target: '/b' }], leftOut: [] })
  t.same(notes.skippedLinks, { count: 8, files: symlinks.slice(0, 5) })
  t.same(notes.followed, [{ path: 'a', target: '/b' }])
  const said = describeNotes({ skipped_links: notes.skippedLinks, alike_names: notes.alikeNames })
  t.match(said[0], /^8 links were not followed: "link 0", .*"link 4", …\./)
  t.equal(said[1], '"Saga 0" and "SAGA 0" differ only in case: they are separate. If they are the same, rename or merge them.')
  t.equal(said.at(-1), '… and 2 more such pairs of names')
  t.equal(said.length, 22)
  t.match(describeNotes({ skipped_links: { count: 1, files: ['a'] }, alike_names: { count: 1, pairs: [['Cafe\u0301', 'Café']] } }), [
    /^1 link was not followed: "a"\./,
    /Unicode form/,
  ])
  t.same(describeNotes({ skipped_links: null, alike_names: null }), [])
})
