import t from 'tap'
import { differencesOf } from '#plugins/consent/differences.ts'
import { hostText, remarksOnHost } from '#plugins/consent/host-words.ts'
import { type ConsentRecord, consentRecordOf, type UserRecord, userRecordOf } from '#plugins/consent/record.ts'
import { describeDifference, describeRecord } from '#plugins/consent/record-lines.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { FORGERIES, forgedIn } from '#test/support/forged-words.ts'
import { FULL_MANIFEST } from '#test/support/full-manifest.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')

const record = consentRecordOf({ manifest: FULL_MANIFEST, signedBy: [KEY], repository: 'https://repository.example/' })

/** Each value in a JSON value, with a copy of the whole in which only this value is another, or in which it is missing. */
function* changed<Root extends object>(root: Root, at: readonly string[] = []): Generator<{ path: string; other: Root }> {
  const value = at.reduce<unknown>((one, name) => (one as Record<string, unknown>)[name], root)
  if (value !== null && typeof value === 'object') for (const name of Object.keys(value)) yield* changed(root, [...at, name])
  if (at.length === 0) return
  const name = at.at(-1) as string
  const isNumber = typeof value === 'number'
  const flipped = typeof value === 'boolean' ? !value : isNumber ? value + 1 : typeof value === 'string' ? `z${value}` : undefined
  for (const next of [flipped, undefined]) {
    const other = structuredClone(root)
    const parent = at.slice(0, -1).reduce<unknown>((one, part) => (one as Record<string, unknown>)[part], other) as Record<string, unknown>
    if (next === undefined && !Array.isArray(parent)) continue
    if (next !== undefined) parent[name] = next
    else (parent as unknown as unknown[]).splice(Number(name), 1)
    if (next !== undefined || Array.isArray(parent)) yield { path: `/${at.join('/')}`, other }
  }
}

/** Whether a change is no change, or gives a value that no manifest can have. */
const isNone = (path: string, before: object, after: object): boolean =>
  /^\/(format|manifest\/(main|manifestVersion|(userC|c)onfig\/(type|additionalProperties)|auth\/(type|bind\/host)))$/.test(path) ||
  differencesOf(before, after).length === 0

t.test('every member of a record has words: each change of one changes the lines', async (t) => {
  const lines = describeRecord(record).join('\n')
  let count = 0
  for (const { path, other } of changed(record)) {
    if (isNone(path, record, other)) continue
    count += 1
    t.not(describeRecord(other).join('\n'), lines, path)
    const difference = describeDifference(record, other)
    t.ok(
      difference.some((line) => line.startsWith('+ ') || line.startsWith('- ') || line.startsWith('  > ')),
      path,
    )
  }
  t.ok(count > 90, `${count} changes`)
  t.same(describeDifference(record, record), [])
  const newer = { ...record, manifest: { ...record.manifest, schedule: 'hourly' } } as unknown as ConsentRecord
  t.match(describeDifference(record, newer), ['+ has further members', '  > as JSON: "{\\"schedule\\":\\"hourly\\"}"'])
})

t.test('a user reads the same words, and every member of what the user agrees to has some', async (t) => {
  const ofUser = userRecordOf(record, { site: 'https://site.example:8443' })
  const lines = describeRecord(ofUser)
  const own = describeRecord(record)
  t.same(
    lines.filter((line) => !own.includes(line)),
    [
      '  connects to api.example.org (GET, POST)',
      '  connects to https://site.example:8443 (GET, POST), the host that an',
      '    administrator enters as site',
    ],
    'only rates are not theirs, and they see the host that is entered',
  )
  for (const line of [
    '  may give links to publisher.example in its answers',
    '  reads of the library of each user: ratings of that user',
    '  > scope: "delete"',
    '  asks each user for mine (string), and receives the password',
    '  asks each user for kept (string), which the server keeps without giving it to',
  ])
    t.ok(lines.includes(line), line)
  t.notOk(
    lines.some((line) => /memory|order/.test(line)),
    'nothing that only administrators answer for',
  )
  let count = 0
  for (const { path, other } of changed(ofUser)) {
    if (isNone(path, ofUser, other)) continue
    count += 1
    t.not(describeRecord(other).join('\n'), lines.join('\n'), path)
  }
  t.ok(count > 60, `${count} changes`)
  const more = { ...ofUser, manifest: { ...ofUser.manifest, schedule: 'hourly' }, further: 1 } as unknown as UserRecord
  t.match(
    describeRecord(more).slice(-4),
    ['  has further members', String, '  has further members of the record', String],
    'also unknown ones',
  )
  const linesFor = (origin: string | null) =>
    describeRecord(userRecordOf(record, { site: origin }))
      .join(' ')
      .replaceAll(/\s+/g, ' ')
  t.match(linesFor(null), 'connects to the host that an administrator enters as site (GET, POST), who has entered none yet')
  const long = `http://${'site.example.'.repeat(5)}collector.example:81`
  t.match(linesFor(long), 'connects to collector.example — site')
  t.match(linesFor(long).replaceAll(' > ', ''), 'the whole address is: "http://')
})

t.test('a record in words', async (t) => {
  const lines = describeRecord(record)
  for (const line of [
    '  is org.example.full',
    '  > the author names it: "Full"',
    '  is signed with',
    `    ${fingerprintOf(KEY)}`,
    '  > its address is: "https://repository.example/"',
    '  finds metadata of series (get, search)',
    '  gives metadata of series the identifiers of anilist',
    '  offers links to links.example, to a search for the title of a series',
    '  connects to api.example.org (GET, POST), at most 11 a minute after 5 at once,',
    '    2 in parallel',
    "  connects to https://site.example (the author's default), or the host that an",
    '  > the author says: "Searches for books"',
    '  reads of the library of each user: ratings of that user',
    '  sends tokens (OAuth 2) of each user to api.example.org, in the header X-Key',
    '  > it is written as: "Bearer {token}"',
    '  lets people sign in at login.example.org',
    '  > the address is: "https://login.example.org/in?next=1"',
    '  > scope: "delete"',
    '  asks each user for send (boolean)',
    '  > it is called: "Send my ratings"',
    '  > it is at first: "false"',
    '  stores up to 7 KB for the server, and as much for each user',
    '  uses up to 77 MB of memory for the server, and as much for each user',
    '  uses up to 333 ms of CPU time and 4 s for each call',
    '  uses up to 5000 ms of CPU time and 120 s for each refresh of the',
    '  has version 3 of its stored data',
  ])
    t.ok(lines.includes(line), line)
})

t.test('a host is shown from its end, with the domain of its owner in front, and below it whole', async (t) => {
  t.equal(hostText('api.example.org'), 'api.example.org')
  const host = 'openlibrary.org.covers-images.covers.archive.openlibrary.collector.evil.example'
  t.match(hostText(host), /^evil\.example — openlibrary\.org\.cov[a-z.-]*…\.evil\.example$/)
  t.match(hostText(`${'a'.repeat(50)}.github.io`), /^a{50}\.github\.io — /, 'a domain that anybody can have below it has no owner')
  const lines = describeRecord({
    ...record,
    manifest: { ...record.manifest, permissions: { network: [{ host, methods: ['GET', 'POST'], reason: 'Covers' }] } },
  })
  t.ok(lines.some((line) => line.startsWith('  connects to evil.example — openlibrary')))
  const whole = lines.slice(lines.findIndex((line) => line.startsWith('  > the whole host is: "')))
  t.ok(
    whole
      .slice(0, 3)
      .join('')
      .replaceAll(/ {2}> {3}/g, '')
      .includes(`"${host}"`),
  )
  t.same(remarksOnHost('xn--pple-43d.com'), ['xn--pple-43d.com is shown by browsers as "аpple.com", mixes Cyrillic and Latin letters'])
})

t.test('a host that the author proposes is shown as one that the manifest names, also where credentials go', async (t) => {
  const linesFor = (origin: string) => {
    const config = { type: 'object', properties: { site: { type: 'string', default: origin } } }
    const auth = { type: 'apiKey', scope: 'server', bind: { hostFrom: 'site', header: 'X-Key' } }
    return describeRecord({ ...record, manifest: { ...record.manifest, config, auth } } as unknown as ConsentRecord)
  }
  const host = 'openlibrary.org.covers-images.covers.archive.collector.evil.example'
  const long = linesFor(`https://${host}:8443`)
  for (const begin of ['  connects to evil.example — openlibrary', '  sends the key of the server to evil.example —'])
    t.equal(long.filter((line) => line.startsWith(begin)).length, 1, begin)
  t.equal(long.filter((line) => line.startsWith('  > the whole address is: "https://openlibrary')).length, 2, 'below both')
  const foreign = linesFor('https://xn--pple-43d.com')
  t.equal(foreign.filter((line) => line.startsWith('  Note: xn--pple-43d.com is shown by browsers as')).length, 2)
  t.ok(foreign.includes("  connects to https://xn--pple-43d.com (the author's default), or the host that"))
})

t.test('no text of an author begins a line that could be of the program, in 80 columns', async (t) => {
  const own = describeRecord(record)
  for (const text of FORGERIES) {
    const hostile = JSON.parse(
      JSON.stringify(record, (name, value) =>
        ['name', 'reason', 'description', 'title', 'license', 'homepage', 'url', 'format', 'default'].includes(name) &&
        typeof value === 'string' &&
        // A default that names no host opens none, and a password that is none is another setting: other lines.
        !['https://site.example', 'password'].includes(value)
          ? text
          : value,
      ),
    ) as ConsentRecord
    const lines = describeRecord(hostile)
    t.same(
      lines.filter((line) => !line.startsWith('  > ') && !line.startsWith('  Note: ')),
      own.filter((line) => !line.startsWith('  > ')),
      JSON.stringify(text).replace(/[^ -~]/g, '?'),
    )
    t.same(forgedIn(lines.join('\n')), [])
    const columnsOf = (line: string) => [...line].reduce((sum, one) => sum + (one > '\u2e80' ? 2 : 1), 0)
    t.same(
      lines.filter((line) => /[\p{C}\p{Zl}\p{Zp}\u00a0\u3164]/u.test(line) || columnsOf(line) >= 80),
      [],
    )
  }
  const long = 'a'.repeat(98)
  const source = {
    ...record,
    manifest: { ...record.manifest, capabilities: { recommendations: { methods: ['get'], idSource: `${long}.z` } } },
  }
  for (const line of describeRecord(source as unknown as ConsentRecord)) t.ok(line.startsWith('  ') && line.length < 80, line)
})

t.test('the server says only of its own plugins that they come with it', async (t) => {
  const own = consentRecordOf({ manifest: FULL_MANIFEST, signedBy: [], repository: null })
  const comes = (lines: readonly string[]) => lines.filter((line) => /signed|comes/.test(line))
  t.same(comes(describeRecord(own, { isBundled: true })), ['  comes with the server'])
  t.same(comes(describeRecord(own)), ['  is not signed', '  comes from a file'])
  t.match(comes(describeRecord(record, { isBundled: true })), ['  is signed with', '  comes from a repository'])
  t.ok(describeRecord(own, { summary: 'Reads nothing' }).includes('  > in lists, the author says: "Reads nothing"'))
})
