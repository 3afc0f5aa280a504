import t from 'tap'
import { seriesOf } from '#core/scan/group-series.ts'

t.test('a folder with books is a series, a file in the root is a series by itself', async (t) => {
  t.same(seriesOf('Saga/Saga 1.cbz'), { path: 'Saga', title: 'Saga', oneshot: false })
  t.same(seriesOf('Image/Saga/Saga 1.cbz'), { path: 'Image/Saga', title: 'Saga', oneshot: false })
  t.same(seriesOf('Watchmen.v1.cbz'), { path: 'Watchmen.v1.cbz', title: 'Watchmen.v1', oneshot: true })
  t.not(seriesOf('A/Extras/1.cbz').path, seriesOf('B/Extras/1.cbz').path, 'equal names in two places are two series')
  t.same(seriesOf('new\nline/📚.pdf'), { path: 'new\nline', title: 'new line', oneshot: false })
})
