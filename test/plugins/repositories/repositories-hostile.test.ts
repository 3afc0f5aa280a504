import { gzipSync } from 'node:zlib'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { INDEX_BYTES_MAX, REVOKED_RANGES_MAX } from '#plugins/repositories/index-file.ts'
import { Repositories } from '#plugins/repositories/repositories.ts'
import { openTestDatabase } from '#test/support/database.ts'
import {
  add,
  both,
  endless,
  INDEX,
  key,
  openTestRepositories,
  publicKey,
  redirect,
  refusal,
  SIGNATURE,
} from '#test/support/plugin-repositories.ts'
import {
  daysFromNow,
  type Files,
  filesOf,
  indexOf,
  newKey,
  openRepositoryServer,
  REPOSITORY_URL,
  signAnything,
} from '#test/support/plugin-repository.ts'

t.setTimeout(240_000)

t.test('invalid URLs of repositories', async (t) => {
  const { repositories, asked } = await openTestRepositories(t)
  const urls = [
    ...[
      'http://plugins.example.org/carrel/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://2130706433/',
      'https://plugins.example.org:8443/',
    ],
    ...[
      'https://a:b@plugins.example.org/',
      'file:///etc/passwd',
      'ftp://plugins.example.org/',
      'plugins.example.org',
      '',
      'javascript:alert(1)',
    ],
    ...[`${REPOSITORY_URL}?a=b`, `${REPOSITORY_URL}#a`, `https://plugins.example.org/${'a'.repeat(3_000)}`],
  ]
  for (const url of urls) t.match(await refusal(repositories.preview(url)), { code: 'invalid_value' }, url.slice(0, 60))
  t.same(asked, [], 'nobody was asked')
})

t.test('a repository needs a public host', async (t) => {
  const { database } = await openTestDatabase(t)
  const server = await openRepositoryServer(t, filesOf(both, key))
  server.way.permits = () => false
  const repositories = new Repositories({
    ...{
      database,
      log: silentLog,
      download: server.download,
      serverVersion: '1.2.3',
      install: () => Promise.reject(new Error('Nothing is installed here.')),
      onRevoked: () => {},
    },
  })
  t.match(await refusal(repositories.preview(REPOSITORY_URL)), { code: 'invalid_value', message: /one that is not public/ })
  t.same(server.way.asked, [])
})

t.test('a hostile web server cannot forge an index', async (t) => {
  const opened = await openTestRepositories(t)
  const { repositories, publish, files } = opened
  const { id } = await add(repositories)
  const five = { ...both, sequence: 5 }
  publish(five)
  const good = await repositories.refresh(id)
  t.match(good, { sequence: 5, error: null })
  const available = await repositories.listAvailable()
  t.equal(available.total, 1)
  const signed = filesOf(five, key) as Record<string, Buffer>
  const anything = (text: string | Buffer): Files => {
    const { bytes, signature } = signAnything(text, key)
    return { [INDEX]: bytes, [SIGNATURE]: signature }
  }

  const attacks: [name: string, files: Files, error: RegExp][] = [
    ['an older index, signed', filesOf({ ...both, sequence: 4 }, key), /has index 4, but index 5 was seen before/],
    ['another index of the same number', filesOf({ ...five, plugins: [] }, key), /has a different index 5 than before/],
    [
      'an index that has expired',
      filesOf({ ...five, sequence: 6, issuedAt: daysFromNow(-20), expires: daysFromNow(-1) }, key),
      /expired at/,
    ],
    [
      'an index from the future, as for a server whose clock was set back',
      filesOf({ ...five, sequence: 6, issuedAt: daysFromNow(3), expires: daysFromNow(20) }, key),
      /was issued in the future \(\S+\); check the clock of this server/,
    ],
    [
      'an index of a publisher whose clock was set back, until after its end',
      filesOf({ ...five, sequence: 6, issuedAt: daysFromNow(-100), expires: daysFromNow(-10) }, key),
      /expired at \S+\. Its publisher must issue a new one/,
    ],
    [
      'the name of another repository, signed',
      anything(JSON.stringify({ ...five, sequence: 6, keys: [publicKey], name: 'https://other.example.org/' })),
      /"https:\/\/other\.example\.org\/" looks like an address\. Write a name/,
    ],
    ['another key', filesOf({ ...five, sequence: 6 }, newKey()), /is not signed by the key that was trusted when the repository was added/],
    [
      'the index of another repository with this key',
      filesOf({ ...five, sequence: 6, url: 'https://other.example.org/' }, key),
      /contains the index of another repository/,
    ],
    ['no signature', { [SIGNATURE]: (_, response) => response.writeHead(404).end() }, /index\.json\.sig answers 404/],
    ['an empty signature', { [SIGNATURE]: Buffer.alloc(0) }, /index\.json\.sig is not an Ed25519 signature/],
    [
      'the signature of an older one',
      { [SIGNATURE]: filesOf({ ...both, sequence: 4 }, key)[SIGNATURE] as Buffer },
      /is not signed by the key/,
    ],
    ['a large signature', { [SIGNATURE]: Buffer.alloc(10_000, 65) }, /exceeds 200 bytes/],
    [
      'one byte changed',
      { [INDEX]: Buffer.from(String(signed[INDEX]).replace('"sequence": 5', '"sequence": 6')) },
      /is not signed by the key/,
    ],
    ['no index', { [INDEX]: (_, response) => response.writeHead(500).end('x') }, /index\.json answers 500/],
    ['a hundred megabytes', { [INDEX]: (_, response) => endless(response, 100) }, /exceeds 5242880 bytes/],
    ['a bomb of JSON, signed', anything(`${'['.repeat(2_000_000)}`), /more than 300000 values/],
    ['a deep index, signed', anything(`{"a":${'[{"b":'.repeat(50_000)}1${'}]'.repeat(50_000)}}`), /nested deeper/],
    [
      'a redirect to another host',
      { [INDEX]: (_, response) => redirect(response, 'https://elsewhere.example.org/carrel/index.json') },
      /another host by a redirect/,
    ],
    [
      'a redirect to an internal host',
      { [INDEX]: (_, response) => redirect(response, 'https://127.0.0.1/index.json') },
      /another host by a redirect/,
    ],
    [
      'a redirect to http',
      { [INDEX]: (_, response) => redirect(response, 'http://plugins.example.org/carrel/index.json') },
      /not public, or not https/,
    ],
    ['a circle of redirects', { [INDEX]: (_, response) => redirect(response, INDEX) }, /redirects more than/],
    ['a hung-up line', { [INDEX]: (_, response) => void response.destroy() }, /could not be downloaded/],
  ]
  for (const [name, change, error] of attacks) {
    Object.assign(files, signed, change)
    const before = opened.asked.length
    const after = await repositories.refresh(id)
    t.match(after.error, error, name)
    t.same({ ...after, error: null }, good, `${name}: the last good index stays`)
    t.ok(
      opened.asked.slice(before).every(({ host }) => /^plugins\.example\.org/.test(host)),
      `${name}: no other host gets a request`,
    )
  }
  t.same(await repositories.listAvailable(), available)
  Object.assign(files, signed)
  t.match(await repositories.refresh(id), { sequence: 5, error: null }, 'the next valid index is accepted')
})

t.test('an index may be redirected within its host, and compressed', async (t) => {
  const files = filesOf(both, key) as Files
  const index = files[INDEX] as Buffer
  files['/real.json'] = (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(index))
  files[INDEX] = (_, response) => redirect(response, '/real.json')
  const { repositories } = await openTestRepositories(t, { files })
  t.match(await add(repositories), { plugins: 1 })
  files['/real.json'] = (_, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(INDEX_BYTES_MAX + 1, 32)))
  const [known] = await repositories.list()
  t.match((await repositories.refresh(known?.id as string)).error, /exceeds/, 'an index that decompresses to too much is refused')
})

t.test('a download from a very slow server is aborted', async (t) => {
  const deadlinesMs = { index: 60_000, package: 400 }
  const { repositories, files } = await openTestRepositories(t, { deadlinesMs })
  const { id } = await add(repositories)
  // From now on: a busy machine may need longer for the first one.
  deadlinesMs.index = 400
  const drip: Files[string] = (_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(timer))
  }
  const index = files[INDEX] as Buffer
  files[INDEX] = drip
  const started = performance.now()
  t.match((await repositories.refresh(id)).error, /did not respond within 400 ms/)
  files[INDEX] = index
  files['/carrel/packages/1.1.0.plugin'] = drip
  t.match(await refusal(repositories.install({ repositoryId: id, pluginId: 'org.example.echo', userId: null })), { code: 'service_failed' })
  t.ok(performance.now() - started < 30_000, 'the server would send forever')
})

t.test('the number of revoked ranges of a plugin is limited', async (t) => {
  const { repositories, files } = await openTestRepositories(t)
  const ranges = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: 'org.example.echo', range: `1.${from + index}.0`, reason: 'bad' }))
  const publish = (sequence: number, revoked: ReturnType<typeof ranges>) =>
    Object.assign(files, filesOf(indexOf({ sequence, plugins: both.plugins, revoked }), key))
  t.throws(() => publish(1, ranges(0, REVOKED_RANGES_MAX + 1)), {
    code: 'invalid_value',
    message: /more than 500 ranges of org\.example\.echo/,
  })
  publish(1, ranges(0, REVOKED_RANGES_MAX))
  const { id } = await add(repositories)
  publish(2, ranges(REVOKED_RANGES_MAX, 1))
  t.match(await repositories.refresh(id), { sequence: 1, error: /With the earlier ones .* more than 500 ranges of org\.example\.echo/ })
})
