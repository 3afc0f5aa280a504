import t from 'tap'
import { applyRules, checkTitleRules, compileTitleRules, rewriteSome } from '#core/conditions/title-rewriting.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'

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
  t.equal(rewrite('Empty of all'), 'Empty of all', 'a title never becomes empty')
  t.equal(compileTitleRules(null)('As it is'), 'As it is')
  t.equal(compileTitleRules([{ pattern: '(', replacement: '' }])('As it is'), 'As it is', 'a stored invalid pattern is skipped')
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
})

t.test('no rule for titles backtracks', onlyCost, async (t) => {
  const begun = threadCpuMs()
  compileTitleRules([{ pattern: '^(a+)+$', replacement: '' }])('a'.repeat(900) + 'b')
  t.ok(threadCpuMs() - begun < 2_000, 'backtracking would take a hundred million steps')
})

t.test('errors in rules are reported with their position', async (t) => {
  const places: [pattern: string, place: number][] = [
    ['(a', 3],
    ['(a(b)', 6],
    ['a)b', 2],
    ['(a))b', 4],
    ['z-a[z-a]', 5],
    ['[abc', 1],
    ['a(?=b)', 2],
    ['(a)\\1', 4],
    ['x{2}y{3,1}', 6],
    ['ab**', 3],
  ]
  for (const [pattern, place] of places) {
    const message = new RegExp(`at character ${place}$`)
    t.throws(() => checkTitleRules([{ pattern, replacement: '' }]), {
      code: 'invalid_value',
      details: [{ path: '/titlePreprocessingRules/0/pattern', message }],
    })
  }
  const rules = ['x', '(a?){700}', '(a?){700}'].map((pattern) => ({ pattern, replacement: '' }))
  t.doesNotThrow(() => checkTitleRules(rules.slice(0, 2)))
  t.throws(() => checkTitleRules(rules), {
    message: /title rule 3 brings the patterns to \d+ steps/,
    details: [{ path: '/titlePreprocessingRules/2/pattern' }],
  })
  const usual = Array.from({ length: 50 }, () => ({ pattern: '(?i)\\s*[(\\[](digital|webrip|\\d{4}).*[)\\]]$', replacement: '' }))
  t.doesNotThrow(() => checkTitleRules(usual), 'the maximum number of typical rules')
})

t.test('no call exceeds the limit, and each makes progress', async (t) => {
  const rules = [{ pattern: '(a?){700}', replacement: 'x' }]
  checkTitleRules(rules)
  const titles = Array.from({ length: 20 }, () => 'a'.repeat(250))
  const some = rewriteSome(rules, titles).length
  t.ok(some >= 1 && some < 20, `${some} of them`)
  t.equal(rewriteSome([...rules, ...rules, ...rules], ['a'.repeat(500), 'b']).length, 1)
  t.equal(rewriteSome([], titles).length, 20)
  t.same(
    applyRules(
      [
        { pattern: 'a+', replacement: 'b' },
        { pattern: 'c', replacement: '' },
      ],
      'aac',
    ),
    { title: 'b', applied: 2 },
  )
  const long = compileTitleRules([{ pattern: '', replacement: '😀'.repeat(3) }])('a'.repeat(201))
  t.ok(long.length <= 500 && long.isWellFormed(), 'no longer than a title may be, and without half a character')
})

t.test('new series get their titles from the rules of their library, and are sorted without articles', async (t) => {
  const fixture = await openLibraryFixture(t)
  await fixture.database('libraries').update({ title_preprocessing_rules: JSON.stringify([{ pattern: ' \\[.*\\]$', replacement: '' }]) })
  fixture.put('The Boys [HQ]/1.cbz')
  fixture.put('Saga/1.cbz')
  await fixture.scan()
  const titles = async () =>
    (await fixture.database('series').orderBy('title').select('title', 'title_sort')).map((row) => [row.title, row.title_sort])
  t.same(await titles(), [
    ['Saga', null],
    ['The Boys', 'Boys, The'],
  ])
})
