import t from 'tap'
import { readPageSettings } from '../../../../../web/src/reader/pages/page-settings.ts'

t.test('of kept settings only what is understood is taken', async (t) => {
  t.same(readPageSettings({ layout: 'double', fit: 'sideways', gap: 1e9, coverAlone: 'yes', later: 1, brightness: 80 }), {
    layout: 'double',
    brightness: 80,
  })
  t.same(readPageSettings('nonsense'), {})
  t.same(readPageSettings(null), {})
  t.same(readPageSettings({ __proto__: { layout: 'double' }, toString: 1 }), {})
})
