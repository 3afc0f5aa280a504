import { performance } from 'node:perf_hooks'
import t from 'tap'
import { checkTitleRules, compileTitleRules } from '#core/library/title-rules.ts'
import { openHouse } from '#test/support/house.ts'

t.setTimeout(60_000)

t.test('rules change titles one after the other', async (t) => {
  const rewrite = compileTitleRules([
    { pattern: '\\s*\\((\\d{4})\\)$', replacement: '' },
    { pattern: '^(\\w+), The$', replacement: 'The $1', description: 'articles to the front' },
    { pattern: 'Boys', replacement: 'Girls', enabled: false },
    { pattern: '^Empty.*', replacement: '' },
  ])
  t.equal(rewrite('Boys, The (2006)'), 'The Boys')
  t.equal(rewrite('Saga'), 'Saga')
  t.equal(rewrite('Empty of all'), 'Empty of all', 'a title is never taken away altogether')
  t.equal(compileTitleRules(null)('As it is'), 'As it is')
  t.equal(compileTitleRules([{ pattern: '(', replacement: '' }])('As it is'), 'As it is', 'what is stored and no pattern is passed over')
  t.throws(
    () =>
      checkTitleRules([
        { pattern: 'fine', replacement: '' },
        { pattern: '(', replacement: '' },
      ]),
    {
      code: 'invalid_value',
      message: /title rule 2/,
      details: [{ path: '/titlePreprocessingRules/1/pattern' }],
    },
  )
  const begun = performance.now()
  compileTitleRules([{ pattern: '^(a+)+$', replacement: '' }])('a'.repeat(900) + 'b')
  t.ok(performance.now() - begun < 2_000, 'no pattern backtracks: a hundred million steps would be needed otherwise')
})

t.test('new series get their titles by the rules of their library, and are sorted without articles', async (t) => {
  const house = await openHouse(t)
  await house.database('libraries').update({ title_preprocessing_rules: JSON.stringify([{ pattern: ' \\[.*\\]$', replacement: '' }]) })
  house.put('The Boys [HQ]/1.cbz')
  house.put('Saga/1.cbz')
  await house.scan()
  const titles = async () =>
    (await house.database('series').orderBy('title').select('title', 'title_sort')).map((row) => [row.title, row.title_sort])
  t.same(await titles(), [
    ['Saga', null],
    ['The Boys', 'Boys, The'],
  ])
})
