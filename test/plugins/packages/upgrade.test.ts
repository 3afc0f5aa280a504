import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { checkUpgrade, type Upgrade } from '#plugins/packages/upgrade.ts'

const upgrade = (version: string, rest: Partial<Upgrade> = {}): Upgrade => ({
  before: { version: '1.2.0', runningVersionId: 'running' },
  versions: [{ version: '1.2.0' }],
  manifest: { id: 'org.example.echo', version },
  ...rest,
})

function refusedFor(given: Upgrade): string | null {
  try {
    checkUpgrade(given)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `${error.code}: ${error.message}`
  }
}

t.test('a newer version replaces the running one', async (t) => {
  for (const version of ['1.2.1', '1.10.0', '2.0.0-rc.1']) t.equal(refusedFor(upgrade(version)), null, version)
  for (const version of ['1.1.9', '1.2.0-rc.1', '0.10.0'])
    t.match(refusedFor(upgrade(version)), /^conflict: .* is older than 1\.2\.0/, version)
  t.match(refusedFor(upgrade('1.2.0')), /^conflict: .* is here already/)
  t.equal(refusedFor(upgrade('1.0.0', { before: { version: '1.2.0', runningVersionId: null } })), null, 'an older version when none runs')
})
