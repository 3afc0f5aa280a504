import t from 'tap'
import { shownCoverOf } from '#core/covers/current-cover.ts'

t.test('the cover of a record, as statements write it', async (t) => {
  t.equal(shownCoverOf(null), null)
  t.same(shownCoverOf('0123456789abcdef0123456789abcdef,300,425,#a03c1e'), {
    version: '0123456789abcdef',
    ...{ width: 300, height: 425, color: '#a03c1e' },
  })
  t.same(shownCoverOf('ab,,,'), { version: 'ab', width: null, height: null, color: null }, 'nobody has measured it')
})
