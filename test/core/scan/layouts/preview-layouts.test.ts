import t from 'tap'
import { decideFolder } from '#core/scan/layouts/decide-folder.ts'
import { LayoutPreview } from '#core/scan/layouts/preview-layouts.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'

t.test('of a folder of a year that holds several series, each is shown, and so are those of the next years', async (t) => {
  const preview = new LayoutPreview({ layouts: [layoutOf('auto', null)], chosen: 0 })
  const add = (folder: string, names: string[]) => {
    const decision = decideFolder({ folder, names, hasOpf: false, isBelowCalibre: false, isAmongRuns: false })
    preview.add({ folder, names, decision, shared: null, groups: null })
  }
  add('Magazines/2023', ['Time 2023-01.pdf', 'Wired 2023-01.pdf'])
  add('Magazines/2024', ['Wired 2024-01.pdf'])
  const { series } = await preview.compare()
  const shown = series.map(({ name, path, rule, bookCount }) => ({ name, path, rule, bookCount }))
  t.same(shown, [
    { name: 'Time', path: 'Magazines', rule: 'part', bookCount: 1 },
    { name: 'Wired', path: 'Magazines', rule: 'part', bookCount: 2 },
  ])
})
