import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { checkUpgrade, type Upgrade } from '#plugins/packages/upgrade.ts'

const upgrade = (version: string, rest: Partial<Upgrade> = {}): Upgrade => ({
  before: { version: '1.2.0', runningVersionId: 'running', previousVersionId: 'previous' },
  versions: [{ id: 'running', version: '1.2.0', sha256: 'one', signedBy: ['author'], rolledBackAt: null }],
  manifest: { id: 'org.example.echo', version },
  sha256: 'one',
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
  t.equal(
    refusedFor(upgrade('1.2.0')),
    'conflict: org.example.echo 1.2.0 is here already. To run it: POST /api/v1/admin/plugins/org.example.echo/consent with {"sha256":"one"}',
  )
  t.match(refusedFor(upgrade('1.2.0', { sha256: 'two' })), /is here already, with other content \(SHA-256 one\)\. Raise the version/)
  t.equal(
    refusedFor(upgrade('1.0.0', { before: { version: '1.2.0', runningVersionId: null, previousVersionId: null } })),
    null,
    'an older version when none runs',
  )
})

t.test('a release replaces a development build of it, which has a higher number', async (t) => {
  for (const running of ['1.2.1-dev.1795255200000', '1.2.0-beta.1.dev.1795255200000']) {
    const before = { version: running, runningVersionId: 'running', previousVersionId: 'previous' }
    t.equal(refusedFor(upgrade('1.1.0', { before, versions: [] })), null, running)
  }
  const before = { version: '1.2.1-dev.1', runningVersionId: 'running', previousVersionId: 'previous' }
  t.match(
    refusedFor(upgrade('1.1.0', { before, versions: [] })),
    /is older than 1\.2\.1-dev\.1, which runs\. To run an older version that is stored: POST \/api\/v1\/admin\/plugins\/org\.example\.echo\/rollback$/,
    'a pre-release of that name',
  )
})

t.test('a development build of earlier sources is not told to go back to a stored version', async (t) => {
  for (const version of ['1.0.1-dev.1795255200000', '1.2.0-beta.1.dev.1795255200000'])
    t.equal(
      refusedFor(upgrade(version)),
      `conflict: org.example.echo ${version} is older than 1.2.0, which runs. It was built from earlier sources. Get the latest ones, and raise "version" in manifest.json to 1.2.0 or later.`,
    )
})

t.test('a version that never ran gives way to one with the same number, and one that has run does not', async (t) => {
  const kept = { id: 'waiting', version: '1.3.0', sha256: 'one', signedBy: ['stranger'], rolledBackAt: null }
  t.same(checkUpgrade(upgrade('1.3.0', { versions: [kept] })), kept)
  t.same(checkUpgrade(upgrade('1.3.0', { versions: [kept], signedBy: [] })), kept)
  t.same(checkUpgrade(upgrade('1.3.0', { versions: [kept], signedBy: kept.signedBy, sha256: 'two' })), kept, 'repaired by its author')
  for (const one of [{ signedBy: ['author'] }, { rolledBackAt: new Date() }, { id: 'running' }, { id: 'previous' }])
    t.match(refusedFor(upgrade('1.3.0', { versions: [{ ...kept, ...one }] })), /is here already/, JSON.stringify(one))
})
