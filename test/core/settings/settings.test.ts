import os from 'node:os'
import fc from 'fast-check'
import t from 'tap'
import { didYouMean, editDistance, nearestName } from '#core/foundation/nearest-name.ts'
import { splitFlags } from '#core/settings/command-line.ts'
import { readSettings, type SettingsInput, SettingsRefused, settingFlags } from '#core/settings/read-settings.ts'
import { absolutePath, hasFileVariable, listVariables, SETTINGS, type Setting } from '#core/settings/setting-table.ts'
import { renderSettingsHelp, renderSettingsTable } from '#core/settings/settings-text.ts'
import { assertInTime } from '#test/support/timed-property.ts'

type Files = Record<string, string>

function readWith(input: { argv?: string[]; env?: SettingsInput['env']; files?: Files }) {
  const files = input.files ?? {}
  return readSettings({
    argv: input.argv ?? [],
    env: input.env ?? {},
    cwd: '/home/reader',
    readFile(file) {
      const text = files[file]
      if (text === undefined) throw Object.assign(new Error('absent'), { code: 'ENOENT' })
      return text
    },
  })
}

t.test('variables of the tool for plugin authors are no settings', async (t) => {
  const env = { CARREL_PLUGIN_SERVER: 'http://127.0.0.1:8080', CARREL_PLUGIN_TOKEN: 'k', CARREL_PLUGIN_KEY_FILE: 'k.pem' }
  t.same(readWith({ env }), readWith({}))
  t.throws(() => readWith({ env: { CARREL_PLUGIN_SERVERS: 'x' } }), { message: /no environment variable CARREL_PLUGIN_SERVERS/ })
})

t.test('settings that nobody sets have their defaults', async (t) => {
  const settings = readWith({})
  t.match(settings, {
    dataFolder: '/home/reader/data',
    libraryFolders: [],
    host: '127.0.0.1',
    port: 8085,
    workers: os.availableParallelism(),
    databaseUrl: null,
    firstAdmin: null,
    rateLimit: {
      enabled: true,
      anonymous: { perSecond: 10, burst: 50 },
      authenticated: { perSecond: 50, burst: 200 },
      pictures: { perSecond: 400, burst: 1500 },
    },
    connectionsPerAddress: 256,
    tokenKey: null,
    accessTokenSeconds: 3600,
    cookieSecure: false,
    log: { level: 'info', format: 'pretty' },
    compatibility: { legacyNames: false },
    filesystemRoots: [],
    plugins: { enabled: true, isolation: 'strict', hardened: false, allowLocal: [], secretKeys: [] },
  })
  t.ok(Object.isFrozen(settings) && Object.isFrozen(settings.rateLimit.anonymous))
})

t.test('flag before environment before config file', async (t) => {
  const files = { '/home/reader/data/carrel.json': '{"port": 1, "host": "config", "log": {"level": "warn"}, "log.format": "json"}' }
  const env = { CARREL_PORT: '2', CARREL_HOST: 'environment' }
  const settings = readWith({ argv: ['--port', '3'], env, files })
  t.equal(settings.port, 3)
  t.equal(settings.host, 'environment')
  t.same(settings.log, { level: 'warn', format: 'json' })
  t.equal(readWith({ env, files }).port, 2)
  t.equal(readWith({ files }).port, 1)
  t.equal(readWith({ env: { CARREL_PORT: '' }, files }).port, 1, 'an empty variable counts as absent')
})

t.test('the config file is searched in three places', async (t) => {
  const files = {
    '/a/carrel.json': '{"port": 1}',
    '/home/reader/carrel.json': '{"port": 2}',
    '/c/my.json': '{"port": 3, "dataDir": "below"}',
  }
  t.equal(readWith({ argv: ['--data-dir', '/a'], files }).port, 1)
  t.equal(readWith({ argv: ['--data-dir', '/b'], files }).port, 2)
  const named = readWith({ argv: ['--config', '/c/my.json'], files })
  t.equal(named.port, 3)
  t.equal(named.dataFolder, '/c/below', 'a path in the file starts at the folder of the file')
  t.equal(readWith({ env: { CARREL_CONFIG: '../../c/my.json' }, files }).port, 3)
})

t.test('lists, paths and switches', async (t) => {
  const settings = readWith({
    argv: [
      '--library',
      'Comics',
      '--library=/srv/books',
      '--library',
      'Comics',
      '--trusted-proxy',
      '10.0.0.0/8',
      '--no-rate-limit',
      '--cookie-secure',
    ],
    env: { CARREL_LIBRARY: '/not/this' },
  })
  t.same(settings.libraryFolders, ['/home/reader/Comics', '/srv/books'])
  t.same(settings.trustedProxies, ['10.0.0.0/8'])
  t.equal(settings.rateLimit.enabled, false)
  t.equal(settings.cookieSecure, true)
  const fromEnv = readWith({
    env: { CARREL_LIBRARY: 'a:/b', CARREL_TRUSTED_PROXIES: '::1, 127.0.0.1', CARREL_RATE_LIMIT: 'off', CARREL_PAGE_CACHE_MB: '100' },
  })
  t.same(fromEnv.libraryFolders, ['/home/reader/a', '/b'])
  t.same(fromEnv.trustedProxies, ['::1', '127.0.0.1'])
  t.equal(fromEnv.rateLimit.enabled, false)
  t.equal(fromEnv.pageCacheBytesMax, 100 * 1024 * 1024)
  t.equal(absolutePath('~/x', '/y'), `${os.homedir()}/x`)
})

t.test('secrets may be in files', async (t) => {
  const settings = readWith({
    env: {
      CARREL_ADMIN_USERNAME_FILE: '/run/name',
      CARREL_ADMIN_PASSWORD_FILE: '/run/word',
      CARREL_TOKEN_KEY_FILE: '/run/key',
      DATABASE_URL_FILE: '/run/url',
    },
    files: {
      '/run/name': 'ada\n',
      '/run/word': ' s3cret \r\n',
      '/run/key': `${'k'.repeat(32)}\n`,
      '/run/url': 'postgresql://me:pass@db/x?password=more\n',
    },
  })
  t.same(settings.firstAdmin, { username: 'ada', password: ' s3cret ' }, 'only the last line end is removed')
  t.equal(settings.databaseUrl, 'postgresql://me:pass@db/x?password=more')
  t.equal(settings.tokenKey, 'k'.repeat(32))
})

t.test('messages say what is wrong and what is valid', async (t) => {
  const cases: [name: string, input: Parameters<typeof readWith>[0], expected: RegExp][] = [
    ['unknown flag', { argv: ['--prot', '1'] }, /no flag --prot\. Did you mean --port\?/],
    ['nothing like it', { argv: ['--zzzzzzzz'] }, /no flag --zzzzzzzz\.$/],
    ['one dash', { argv: ['-port', '1'] }, /no flag -port\. Did you mean --port\?/],
    ['a word', { argv: ['stray'] }, /"stray" belongs to no flag/],
    ['no value', { argv: ['--port'] }, /--port needs a value/],
    ['a flag for a value', { argv: ['--port', '--host', 'x'] }, /--port needs a value/],
    ['twice', { argv: ['--port', '1', '--port', '2'] }, /--port is given twice/],
    ['negated with a value', { argv: ['--no-rate-limit=on'] }, /takes no value/],
    ['no number', { argv: ['--port', 'web'] }, /--port must be a whole number from 0 to 65535, not "web"/],
    ['too large', { env: { CARREL_PORT: '70000' } }, /CARREL_PORT must be a whole number from 0 to 65535/],
    ['negative', { argv: ['--workers', '-1'] }, /--workers must be a whole number from 1/],
    [
      'a fraction in the file',
      { files: { '/home/reader/carrel.json': '{"port": 1.5}' } },
      /port in \/home\/reader\/carrel\.json must be a whole number/,
    ],
    ['choice', { argv: ['--log-level', 'debgu'] }, /must be one of debug, info.*Did you mean debug\?/],
    ['boolean', { env: { CARREL_COOKIE_SECURE: 'maybe' } }, /CARREL_COOKIE_SECURE must be on or off/],
    ['address', { argv: ['--trusted-proxy', '10.0.0.0/33'] }, /CIDR.*10\.0\.0\.0\/33/],
    ['unknown variable', { env: { CARREL_DATADIR: 'x' } }, /no environment variable CARREL_DATADIR\. Did you mean CARREL_DATA_DIR\?/],
    [
      'unknown key',
      { files: { '/home/reader/carrel.json': '{"rateLimit": {"enable": true}}' } },
      /no setting rateLimit\.enable .*Did you mean rateLimit\.enabled\?/,
    ],
    ['a value where an object stands', { files: { '/home/reader/carrel.json': '{"log": "debug"}' } }, /log in .* must be a JSON object/],
    ['no JSON', { files: { '/home/reader/carrel.json': '{' } }, /is not JSON/],
    ['no object', { files: { '/home/reader/carrel.json': '[]' } }, /must be a JSON object/],
    ['named file absent', { argv: ['--config', 'no.json'] }, /\/home\/reader\/no\.json cannot be read \(ENOENT\)/],
    ['secret file absent', { env: { CARREL_TOKEN_KEY_FILE: '/no' } }, /CARREL_TOKEN_KEY_FILE names \/no, which cannot be read/],
    [
      'both variables',
      { env: { CARREL_TOKEN_KEY: 'x'.repeat(32), CARREL_TOKEN_KEY_FILE: '/k' }, files: { '/k': 'y'.repeat(32) } },
      /both set/,
    ],
    ['half an admin', { env: { CARREL_ADMIN_USERNAME: 'ada' } }, /needs both/],
    ['short key', { env: { CARREL_TOKEN_KEY: 'short' } }, /at least 32 bytes/],
    ['other database', { env: { DATABASE_URL: 'mysql://x' } }, /must begin with postgresql:\/\//],
    [
      'empty secret file',
      { env: { CARREL_TOKEN_KEY_FILE: '/k' }, files: { '/k': '\n' } },
      /CARREL_TOKEN_KEY_FILE must be text that is not empty/,
    ],
  ]
  for (const [name, input, expected] of cases) t.throws(() => readWith(input), { name: 'SettingsRefused', message: expected }, name)

  try {
    readWith({ argv: ['--prot', '1', '--host'], env: { CARREL_PORT: 'x', CARREL_NO: '' } })
    t.fail('must refuse')
  } catch (error) {
    t.ok(error instanceof SettingsRefused)
    t.equal((error as SettingsRefused).problems.length, 4, 'all problems together')
  }
  t.throws(
    () => readWith({ env: { DATABASE_URL: '   ' } }),
    /DATABASE_URL must be text that is not empty, not the given value/,
    'a secret is not repeated',
  )
})

t.test('the table of settings is complete and consistent', async (t) => {
  const settings: readonly Setting[] = SETTINGS
  for (const column of ['key', 'flag', 'env'] as const) {
    const names = settings.map((setting) => setting[column]).filter((name) => name !== null)
    t.equal(new Set(names).size, names.length, `${column}: no name twice`)
  }
  for (const setting of settings) if (setting.secret) t.equal(setting.flag, null, `${setting.key} is a secret and has no flag`)
  const table = renderSettingsTable()
  const help = renderSettingsHelp()
  for (const setting of settings) {
    t.match(table, `\`${setting.key}\``)
    t.match(help, setting.about)
    t.equal(table.includes(`${setting.env}_FILE`), hasFileVariable(setting))
  }
  t.notMatch(table, String(process.cwd()))
  t.ok(listVariables().includes('DATABASE_URL_FILE'))
})

t.test('every documented value works on every flag, in the environment and in the file', async (t) => {
  /** Values that the table allows, and their parsed form. */
  const allowed = ({ kind }: Setting): [text: string, value: unknown][] => {
    if (kind.type === 'boolean') return ['on', 'ON', 'true', 'yes', '1', 'off', 'Off', 'false', 'no', '0'].map((text, at) => [text, at < 5])
    if (kind.type === 'integer') return [kind.min, kind.max].map((number) => [String(number), number])
    if (kind.type === 'choice') return kind.choices.map((choice) => [choice, choice])
    if (kind.type === 'addresses') return [['10.0.0.0/8', ['10.0.0.0/8']]]
    return []
  }
  for (const setting of SETTINGS as readonly Setting[])
    for (const [text, value] of allowed(setting)) {
      const outcomes = [
        readWith({ env: { [setting.env]: text } }),
        ...[text, value].map((inner) => readWith({ files: { '/home/reader/carrel.json': JSON.stringify({ [setting.key]: inner }) } })),
        ...(setting.flag === null
          ? []
          : [readWith({ argv: [`--${setting.flag}`, text] }), readWith({ argv: [`--${setting.flag}=${text}`] })]),
      ]
      for (const outcome of outcomes) t.same(outcome, outcomes[0], `${setting.key} ${text}`)
      if (setting.key === 'rateLimit.enabled') t.equal(outcomes[0]?.rateLimit.enabled, value)
    }
  t.match(splitFlags(['--rate-limit', 'off', 'scan'], settingFlags()), { words: ['scan'] })
  t.match(splitFlags(['--plugins', 'Manga'], settingFlags()), { words: ['Manga'] }, 'any other word is not its value')
  t.throws(() => readWith({ argv: ['--rate-limit=maybe'] }), /--rate-limit must be on or off, not "maybe"/)
  const own = [{ name: 'yes', isSwitch: true }]
  t.same(splitFlags(['--yes=off', 'on'], own), { values: new Map([['yes', ['false']]]), words: ['on'], problems: [] })
  t.match(splitFlags(['--yes=maybe'], own).problems, [/--yes must be on or off/])
})

t.test('parsing a command line', async (t) => {
  const flags = [
    { name: 'name', repeatable: true },
    { name: 'fast', isSwitch: true },
  ]
  const found = splitFlags(['user', '--name', '-x', '--name=a=b', '--fast', 'add', '--', '--name'], flags)
  t.same(found.words, ['user', 'add', '--name'])
  t.same(found.values.get('name'), ['-x', 'a=b'])
  t.same(found.values.get('fast'), ['true'])
  t.same(found.problems, [])
})

t.test('the edit distance is exact within its bound', async () => {
  const text = fc.string({ maxLength: 12, unit: fc.constantFrom('a', 'b', 'c') })
  assertInTime(
    fc.property(text, text, fc.nat(12), (from, to, most) => {
      const whole = editDistance(from, to, 24)
      return editDistance(from, to, most) === (whole <= most ? whole : Number.POSITIVE_INFINITY) && whole === editDistance(to, from, 24)
    }),
  )
})

t.test('the nearest name is suggested for an unknown setting', async (t) => {
  t.equal(editDistance('', 'abc', 3), 3)
  t.equal(editDistance('port', 'prot', 1), 1)
  t.equal(editDistance('kitten', 'sitting', 3), 3)
  t.equal(editDistance('kitten', 'sitting', 2), Number.POSITIVE_INFINITY)
  t.equal(editDistance('a'.repeat(1_000_000), 'b', 3), Number.POSITIVE_INFINITY)
  t.equal(nearestName('library'.repeat(20), ['library'.repeat(20)]), null, 'too long for a typing error')
  t.equal(nearestName('lib', ['host', 'library']), 'library')
  t.equal(nearestName('x', ['host']), null)
  t.equal(nearestName('fetch', ['search', 'get', 'match']), null, 'two of five letters differ')
  t.equal(nearestName('img.example.org', ['api.example.org']), null)
  t.equal(nearestName('metadata', ['metadata.series', 'metadata.book']), null, 'two begin with it')
  t.equal(nearestName('no-name', ['name']), 'name')
  t.equal(nearestName('Mein', ['Mine']), 'Mine')
  t.equal(didYouMean('hots', ['host'], '--'), ' Did you mean --host?')
})
