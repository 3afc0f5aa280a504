import t from 'tap'
import { compareVersions } from '#plugins/packages/upgrade.ts'

t.test('versions in order', async (t) => {
  const ordered = [
    ...[
      '0.9.9',
      '1.0.0-1',
      '1.0.0-2',
      '1.0.0-10',
      '1.0.0-Beta',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.2',
      '1.0.0-alpha.10',
      '1.0.0-alpha.beta',
    ],
    ...['1.0.0-alpha-1', '1.0.0-beta', '1.0.0', '1.0.1', '1.10.0', '2.0.0'],
  ]
  for (const [index, version] of ordered.entries()) {
    t.equal(compareVersions(version, version), 0)
    for (const later of ordered.slice(index + 1))
      t.ok(compareVersions(version, later) < 0 && compareVersions(later, version) > 0, `${version} < ${later}`)
  }
})
