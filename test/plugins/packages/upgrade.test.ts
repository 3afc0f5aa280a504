import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { checkUpgrade, type Upgrade } from '#plugins/packages/upgrade.ts'

const upgrade = (version: string, rest: Partial<Upgrade> = {}): Upgrade => ({
  before: { version: '1.2.0', runningVersionId: 'running', previousVersionId: 'previous' },
  versions: [{ id: 'running', version: '1.2.0', signedBy: ['author'], rolledBackAt: null }],
  manifest: { id: 'org.example.echo', version },
  signedBy: ['author'],
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
  t.equal(
    refusedFor(upgrade('1.0.0', { before: { version: '1.2.0', runningVersionId: null, previousVersionId: null } })),
    null,
    'an older version when none runs',
  )
})

t.test('a version that waits gives way to one with the same number that others have signed, and one that has run does not', async (t) => {
  const kept = { id: 'waiting', version: '1.3.0', signedBy: ['stranger'], rolledBackAt: null }
  t.same(checkUpgrade(upgrade('1.3.0', { versions: [kept] })), kept)
  t.same(checkUpgrade(upgrade('1.3.0', { versions: [kept], signedBy: [] })), kept)
  for (const one of [{ signedBy: ['author'] }, { rolledBackAt: new Date() }, { id: 'running' }, { id: 'previous' }])
    t.match(refusedFor(upgrade('1.3.0', { versions: [{ ...kept, ...one }] })), /is here already/, JSON.stringify(one))
})
