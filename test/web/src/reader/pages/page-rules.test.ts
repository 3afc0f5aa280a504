import t from 'tap'
import {
  angleOf,
  directionOf,
  fitSpread,
  isSideways,
  layoutByScreen,
  partRatio,
  ratioOf,
  tapAction,
  turnSize,
} from '../../../../../web/src/reader/pages/page-rules.ts'

t.test('two pages show on a wide screen, one on an upright or small one, and a strip for webtoons', async (t) => {
  t.equal(layoutByScreen({ width: 1600, height: 900 }, 'ltr'), 'double')
  t.equal(layoutByScreen({ width: 900, height: 1200 }, 'rtl'), 'single')
  t.equal(layoutByScreen({ width: 640, height: 360 }, null), 'single')
  t.equal(layoutByScreen({ width: 1600, height: 900 }, 'ttb'), 'single')
  t.equal(layoutByScreen({ width: 360, height: 800 }, 'webtoon'), 'strip')
})

t.test('a book without a direction is read from left to right, and a webtoon goes down', async (t) => {
  t.equal(directionOf(null), 'ltr')
  t.equal(directionOf('rtl'), 'rtl')
  t.equal(directionOf('webtoon'), 'ttb')
})

t.test('a spread fits the screen, its width or its height, or has the pixels of the file', async (t) => {
  const room = { width: 1000, height: 600 }
  const pair = { ratios: [2 / 3, 2 / 3], originalHeight: 1500 }
  t.same(fitSpread(room, 'page', pair), { width: 800, height: 600 })
  t.same(fitSpread(room, 'width', pair), { width: 1000, height: 750 })
  t.same(fitSpread(room, 'height', pair), { width: 800, height: 600 })
  t.same(fitSpread(room, 'original', pair), { width: 2000, height: 1500 })
  t.same(
    fitSpread(room, 'original', { ...pair, originalHeight: null }),
    { width: 800, height: 600 },
    'as long as the size is not known it fits',
  )
})

t.test('a page of one column of pixels does not become as tall as a hundred screens', async (t) => {
  t.equal(ratioOf({ width: 1, height: 30_000 }), 1 / 50)
  t.equal(ratioOf({ width: 30_000, height: 1 }), 50)
  t.equal(ratioOf({ width: null, height: null }), 2 / 3)
})

t.test('a half has half the width of its page, and a turned wide page stands upright', async (t) => {
  const wide = { width: 2000, height: 1000 }
  t.equal(partRatio(wide, 'first', false), 1)
  t.equal(partRatio(wide, 'whole', true), 0.5)
  t.equal(partRatio({ width: 1000, height: 2000 }, 'whole', true), 0.5)
})

t.test('the outer thirds turn in the direction of reading, and the middle shows the bars', async (t) => {
  t.equal(tapAction(0.9, 'ltr'), 'next')
  t.equal(tapAction(0.1, 'ltr'), 'previous')
  t.equal(tapAction(0.1, 'rtl'), 'next')
  t.equal(tapAction(0.9, 'rtl'), 'previous')
  t.equal(tapAction(0.5, 'rtl'), 'bars')
})

t.test('a page that is turned has the size of its new position, and a wide one may then stand upright', async (t) => {
  const upright = { width: 600, height: 900 }
  t.same(turnSize(upright, '90'), { width: 900, height: 600 })
  t.equal(turnSize(upright, '180'), upright)
  t.equal(angleOf(upright, { rotation: '270', wide: 'turned' }), '270')
  t.equal(angleOf(turnSize(upright, '270'), { rotation: '270', wide: 'turned' }), '0')
  t.equal(angleOf(turnSize(upright, '0'), { rotation: '0', wide: 'whole' }), '0')
  t.same((['0', '90', '180', '270'] as const).map(isSideways), [false, true, false, true])
})
