import t from 'tap'
import { hasRestarts } from '#core/scan/number-restarts.ts'

const names = (folder: string, series: string, numbers: readonly (number | string)[]) =>
  numbers.map((number) => `${folder}/${series} ${number}.cbz`)

t.test('numbers begin anew in folders with numbers and in years, and nowhere else', async (t) => {
  const cases: [title: string, restarts: boolean, paths: string[]][] = [
    ['seasons', true, [...names('S/Season 1', 'Ep', [1, 2, 3]), ...names('S/Season 2', 'Ep', [1, 2])]],
    ['seasons that go on', false, [...names('S/Season 1', 'Ep', [1, 2, 3]), ...names('S/Season 2', 'Ep', [4, 5])]],
    ['folders of years', true, [...names('S/2019', 'Wired', ['2019-11', '2019-12']), ...names('S/2020', 'Wired', ['2020-11', '2020-12'])]],
    ['years in one folder', true, names('S', 'Wired', ['2019-11', '2019-12', '2020-11'])],
    ['years behind months, which are in another order', false, names('S', 'Wired', ['01.2019', '01.2020', '02.2019', '02.2020'])],
    ['years in which numbers go on', false, names('S', 'Saga', ['001 (2012)', '002 (2012)', '003 (2013)', '004 (2013)'])],
    ['an issue that was printed again', false, names('S', 'Saga', ['001 (2012)', '001 (2013)', '002 (2013)', '003 (2013)'])],
    ['volumes with a book 0 in each', false, [...names('S/Vol 1', 'c', ['000', '001']), ...names('S/Vol 2', 'c', ['000', '002'])]],
    ['one volume in two editions', false, [...names('S/Vol 1', 'S', ['v01']), ...names('S/Vol 1 (2015)', 'S', ['v01'])]],
    ['collected issues beside single ones', false, [...names('S', 'S', ['001', '002']), ...names('S/Omnibus', 'S Omnibus', ['01', '02'])]],
    ['issues beside a folder of volumes', false, [...names('S', 'S', ['001', '002']), ...names('S/Vol 1', 'S', ['001', '002'])]],
    ['names without numbers', false, ['S/Season 1/a.cbz', 'S/Season 2/a.cbz']],
  ]
  for (const [title, restarts, paths] of cases)
    t.equal(
      hasRestarts(
        paths.map((path) => ({ path, layoutValues: null })),
        'S',
      ),
      restarts,
      title,
    )
})

t.test('what was noted before makes no difference', async (t) => {
  const files = names('S', 'Wired', ['2019-11', '2020-11']).map((path) => ({ path, layoutValues: { restarts: true as const } }))
  t.equal(hasRestarts(files, 'S'), true)
  t.equal(hasRestarts(files.slice(1), 'S'), false)
})
