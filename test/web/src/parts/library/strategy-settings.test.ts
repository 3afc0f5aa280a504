import t from 'tap'
import { SERIES_STRATEGIES as KNOWN } from '#core/catalog/library.ts'
import { checkSettings } from '#core/scan/layouts/check-layout.ts'
import { SERIES_CONFIGS } from '#core/scan/layouts/series-config.ts'
import {
  BOOK_SETTINGS,
  BOOK_STRATEGIES,
  configOf,
  isComplete,
  NUMBER_SETTINGS,
  NUMBER_STRATEGIES,
  SERIES_SETTINGS,
  SERIES_STRATEGIES,
  settingOf,
  withValue,
} from '../../../../../web/src/parts/library/strategy-settings.ts'

t.test('every strategy of the server can be chosen, with all of its settings', async (t) => {
  t.same([...SERIES_STRATEGIES].sort(), [...KNOWN].sort())
  for (const strategy of SERIES_STRATEGIES) {
    const offered = new Set((SERIES_SETTINGS[strategy] ?? []).map(({ name }) => name.split('.')[0]))
    t.same([...offered].sort(), Object.keys(SERIES_CONFIGS[strategy].properties).sort(), strategy)
  }
})

t.test('what a form sends is valid, and without what the server does anyway', async (t) => {
  const sent = configOf(SERIES_SETTINGS.flat, { filenamePatterns: [' (?P<series>.+) ', ''], requireMetadata: false })
  t.same(sent, { filenamePatterns: ['(?P<series>.+)'] })
  t.doesNotThrow(() => checkSettings('seriesConfig', { strategy: 'flat', schema: SERIES_CONFIGS.flat }, sent))
  t.same(configOf(SERIES_SETTINGS.publisher_hierarchy, { skipDepth: 1, storeSkippedAs: 'none' }), {})
  t.same(configOf(SERIES_SETTINGS.publisher_hierarchy, { skipDepth: 2, storeSkippedAs: 'imprint' }), {
    skipDepth: 2,
    storeSkippedAs: 'imprint',
  })
  t.same(configOf(SERIES_SETTINGS.calibre, { stripIdSuffix: false, readOpfMetadata: true }), { stripIdSuffix: false })
  t.same(configOf(NUMBER_SETTINGS.file_order, { start: 0 }), { start: 0 }, 'zero is a number')
  t.same(configOf(BOOK_SETTINGS.series_name, { volumePadding: null }), {})
  t.same(configOf(undefined, { pattern: 'of another strategy' }), {})
  const words = withValue(withValue({}, 'words.volume', ['Bok', ' ']), 'words.side', [])
  t.same(configOf(SERIES_SETTINGS.auto, words), { words: { volume: ['Bok'] } }, 'words of one kind')
  t.same(settingOf(words, 'words.volume'), ['Bok', ' '], 'what is being typed stays as it is')
})

t.test('a pattern is asked for before anything is looked at', async (t) => {
  t.notOk(isComplete(SERIES_SETTINGS.custom, {}))
  t.ok(isComplete(SERIES_SETTINGS.custom, { pattern: '(?P<series>.+)/.*' }))
  t.notOk(isComplete(BOOK_SETTINGS.custom, { pattern: 'x' }), 'and a template')
  for (const strategy of BOOK_STRATEGIES) if (strategy !== 'custom') t.ok(isComplete(BOOK_SETTINGS[strategy], {}), strategy)
  for (const strategy of NUMBER_STRATEGIES) t.ok(isComplete(NUMBER_SETTINGS[strategy], {}), strategy)
})
