import t from 'tap'
import { previewRequestOf } from '../../../../../web/src/parts/library/preview-request.ts'

const chosen = { formats: null, excluded: '', seriesStrategy: 'auto', seriesConfig: {} } as const

t.test('a folder is looked at as the library will be', async (t) => {
  t.same(previewRequestOf(null, chosen), { asked: null, needsPattern: false })
  const entered = {
    formats: ['cbz'],
    excluded: ' extras \n',
    seriesStrategy: 'flat',
    seriesConfig: { requireMetadata: true, pattern: 'x' },
  } as const
  t.same(previewRequestOf('/books', entered).asked, {
    path: '/books',
    seriesStrategy: 'flat',
    seriesConfig: { requireMetadata: true },
    allowedFormats: ['cbz'],
    excludedPatterns: 'extras',
  })
})

t.test('without its pattern a way is not asked for, only the comparison of the others', async (t) => {
  const { asked, needsPattern } = previewRequestOf('/books', { ...chosen, seriesStrategy: 'custom' })
  t.ok(needsPattern)
  t.match(asked, { path: '/books', seriesStrategy: 'auto', seriesConfig: {} })
  const entered = { ...chosen, seriesStrategy: 'custom', seriesConfig: { pattern: '(?P<series>.+)/.*' } } as const
  t.match(previewRequestOf('/books', entered), {
    needsPattern: false,
    asked: { seriesStrategy: 'custom', seriesConfig: { pattern: '(?P<series>.+)/.*' } },
  })
})
