import t from 'tap'
import { nameParts, sharedAfter } from '../../../../web/src/api/bulk-changes.ts'

t.test('only the kind of names that changes is sent', async (t) => {
  const none = { addTags: [], removeTags: [], addGenres: [], removeGenres: [] }
  t.same(nameParts(none), [])
  t.same(nameParts({ ...none, removeGenres: ['Horror'] }), [{ of: 'genres', add: [], remove: ['Horror'] }])
  t.same(nameParts({ ...none, addTags: ['sea'], addGenres: ['Drama'] }), [
    { of: 'tags', add: ['sea'], remove: [] },
    { of: 'genres', add: ['Drama'], remove: [] },
  ])
})

t.test('a series keeps the sharing tags that nobody changes', async (t) => {
  t.same(
    sharedAfter(
      ['kids', 'mine'],
      new Map([
        ['teens', 'put'],
        ['mine', 'take'],
      ]),
    ),
    ['kids', 'teens'],
  )
  t.same(sharedAfter(['kids'], new Map([['kids', 'put']])), ['kids'], 'none twice')
  t.same(sharedAfter([], new Map([['kids', 'take']])), [])
})
