import t from 'tap'
import {
  chooseAt,
  keepSettings,
  type Levels,
  levelOf,
  setBack,
  settingsOf,
  valueBelow,
} from '../../../../../web/src/reader/shared/levels.ts'

interface Settings {
  layout: string
  gap: number
}
const defaults: Settings = { layout: 'screen', gap: 0 }
const levels: Levels<Settings> = { global: { layout: 'single' }, series: { layout: 'double' }, book: {} }

t.test('the level nearest to the book holds', async (t) => {
  t.same(settingsOf(defaults, levels), { layout: 'double', gap: 0 })
  t.equal(levelOf(levels, 'layout'), 'series')
  t.equal(levelOf(levels, 'gap'), null)
  t.same(valueBelow(defaults, levels, 'layout'), { value: 'single', level: 'global' })
  t.same(valueBelow(defaults, levels, 'gap'), { value: 0, level: null })
})

t.test('a choice for all books is seen at once, also where a series had its own', async (t) => {
  const chosen = chooseAt(levels, 'global', { key: 'layout', value: 'strip' })
  t.same(chosen, { global: { layout: 'strip' }, series: {}, book: {} })
  t.same(chooseAt(levels, 'book', { key: 'gap', value: 4 }).book, { gap: 4 })
  t.equal(levels.series.layout, 'double', 'the levels before stay as they were')
})

t.test('setting back leads to the next level', async (t) => {
  t.equal(settingsOf(defaults, setBack(levels, 'layout')).layout, 'single')
  t.equal(setBack(levels, 'gap'), levels)
})

t.test('the longest unused records are dropped, and those without settings', async (t) => {
  let kept = {}
  for (let index = 0; index < 200; index++) kept = keepSettings<Settings>(kept, `book-${index}`, { gap: index })
  t.equal(Object.keys(kept).length, 150)
  t.notOk('book-49' in kept)
  kept = keepSettings<Settings>(kept, 'book-50', { gap: 1 })
  t.equal(Object.keys(kept).at(-1), 'book-50')
  t.notOk('book-50' in keepSettings<Settings>(kept, 'book-50', {}))
})
