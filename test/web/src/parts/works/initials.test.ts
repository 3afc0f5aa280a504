import t from 'tap'
import { initials } from '../../../../../web/src/parts/works/initials.ts'

t.test('the initials of a person are of words that begin with a letter', (t) => {
  t.equal(initials('Georges Bizet (1838-1875)'), 'GB')
  t.equal(initials('Pénélope Bagieu'), 'PB')
  t.equal(initials('émile'), 'É')
  t.equal(initials('(1838)'), '')
  t.end()
})
