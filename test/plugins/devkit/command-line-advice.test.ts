import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { openPluginFolder, runTool } from '#test/support/plugin-projects.ts'

t.setTimeout(300_000)

type Change = NonNullable<Parameters<typeof openPluginFolder>[1]>

const PERMISSIONS = { network: [{ host: 'api.example.org', methods: ['GET'], reason: 'The service' }], storage: { quotaKB: 16 } }
const VALIDATE = 'validate --no-types'
const SERIES = { 'metadata.series': { methods: ['search', 'get'] } }
const REPLAY_GET = 'replay calls/get.json'

const main = (get: string, capabilities: object = SERIES): Change => ({
  manifest: { permissions: PERMISSIONS, capabilities },
  files: {
    'src/main.ts': null,
    'src/main.js': `export default { metadata: { series: {
      async search({ query }, ctx) {
        await ctx.storage.get('a')
        return { results: (await ctx.http.json('https://api.example.org/titles?q=' + query)).titles.map((title) => ({ externalId: title, title })) }
      },
      async get({ externalId }, ctx) { ${get} },
    } } }\n`,
    'calls/get.json': JSON.stringify({
      method: 'metadata.series.get',
      input: { externalId: '1' },
      fixtures: { formatVersion: 1, exchanges: [] },
    }),
  },
})
const manifest = (change: object): Change => ({ manifest: { permissions: PERMISSIONS, ...change } })
const file = (name: string, text: string): Change => ({ manifest: { permissions: PERMISSIONS }, files: { [name]: text } })
const LINK = "return { externalId, title: 'a', externalUrl: 'https://www.example.net/1' }"
const AUTH = { type: 'apiKey', scope: 'server', bind: { hostFrom: 'site', header: 'X-Key' } }

/** What an author has, what they type, whether it fails, and the message. */
const MESSAGES: [name: string, change: Change, typed: string, code: 0 | 1, message: string][] = [
  [
    'a host that the manifest does not list',
    main(LINK),
    VALIDATE,
    0,
    '! warning hosts src/main.js:6: The code contains a URL of www.example.net, which the manifest does not list. Requests to it are refused, and answers lose links and covers there. List it in permissions.network for requests and covers, or in capabilities.webLinks.hosts if it is only for links.',
  ],
  [
    'a host of links',
    main(LINK, { ...SERIES, webLinks: { hosts: ['www.example.net'] } }),
    VALIDATE,
    0,
    '✔ org.example.echo 1.0.0 is fit to be packed',
  ],
  [
    'a link that is left out',
    main(LINK),
    REPLAY_GET,
    0,
    'A link was left out of the answer: https://www.example.net is not a host that this plugin may contact: permissions.network in its manifest.json does not name it. For links, capabilities.webLinks.hosts may name it instead.',
  ],
  [
    'a client that needs Node or a browser',
    main("throw new Error('There is no suitable adapter to dispatch the request ')"),
    REPLAY_GET,
    1,
    'axios needs XMLHttpRequest or modules of Node, which the sandbox does not have. Use ctx.http.json or ctx.fetch.',
  ],
  [
    'an error that counts against the plugin, at a status of the service',
    main("const { ok } = await ctx.fetch('https://api.example.org/1'); if (!ok) throw new Error('failed'); return { externalId }"),
    'test --no-types',
    1,
    'At status 429, it ended with thrown: failed at src/main.js:6:',
  ],
  [
    'what is expected instead',
    main("const { ok } = await ctx.fetch('https://api.example.org/1'); if (!ok) throw new Error('failed'); return { externalId }"),
    'test --no-types',
    1,
    'Expected is an answer, or an error of @carrel/plugin-sdk that says what went wrong, such as RateLimitError, UpstreamError or NotFoundError. ',
  ],
  [
    'a misspelled member beside an error that it causes',
    { manifest: { permissions: undefined, permisions: { networkFromConfig: ['site'] }, auth: AUTH } },
    'pack --no-types',
    1,
    'unknown member "permisions", which servers ignore. Did you mean permissions?',
  ],
  [
    'an id of the server',
    manifest({ id: 'carrel.mine' }),
    'pack --no-types',
    1,
    ' at /id: carrel.mine is, or looks like, an id below carrel., which only plugins have that come with the server. Servers refuse it. Choose another, such as org.example.mine.',
  ],
  [
    'a saved call of a method that the manifest no longer has',
    file('calls/match.json', JSON.stringify({ method: 'metadata.series.match', input: { title: 'Dune' } })),
    'test --no-types',
    0,
    '! calls/match.json calls metadata.series.match, which manifest.json does not name: no check uses it.',
  ],
  [
    'a script in an icon',
    file('icon.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    VALIDATE,
    1,
    'files icon.svg contains a script, which no page runs. Remove it.',
  ],
  [
    'the same as an attribute',
    file('icon.svg', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
    VALIDATE,
    1,
    'files icon.svg contains a script, which no page runs. Remove it.',
  ],
]

t.test('what the tool says is whole, and names what to do', async (t) => {
  for (const [name, change, typed, code, message] of MESSAGES) {
    const ran = await runTool(await openPluginFolder(t, change), typed.split(' '))
    t.equal(ran.code, code, `${name}: ${ran.output}`)
    t.ok(ran.output.replaceAll(/\s+/g, ' ').includes(message), `${name}: ${ran.output}`)
  }
})

t.test('an index is signed by the key that servers know, and by no other', async (t) => {
  const folder = await openPluginFolder(t, file('CHANGELOG.md', '## 1.0.0\n\nNew.\n'))
  for (const name of ['key.pem', 'other.pem']) await runTool(folder, ['sign', '--new-key', name])
  const url = ['--name', 'Own', '--url', 'https://example.org/p/']
  const packed = await runTool(folder, ['pack', '--no-types', '--key', 'key.pem'])
  t.equal(packed.code, 0, packed.output)
  t.match(await runTool(folder, ['index', '.', '--key', 'key.pem', ...url]), { code: 0, stdout: /number 1/ })
  const index = () => readFile(path.join(folder, 'index.json'), 'utf8')
  const before = await index()
  const { code, stderr } = await runTool(folder, ['index', '.', '--key', 'other.pem'])
  t.equal(code, 1)
  t.match(
    stderr.replaceAll(folder, 'DIR').replaceAll(/\s+/g, ' '),
    /DIR\/index\.json is signed by \S+, and servers that know the repository refuse any other key; given is \S+\. The index was not written\. Write it with its key: .*index DIR --key FILE\. If that key is lost, delete DIR\/index\.json to begin a new repository, which administrators must add again\./,
  )
  t.equal(await index(), before)
  t.match(await runTool(folder, ['index', '.', '--key', 'key.pem']), { code: 0, stdout: /number 2/ })
})

t.test('a release with a new key leaves the index as it is, and says who must sign it', async (t) => {
  const folder = await openPluginFolder(t, { ...file('new.md', 'New.\n') })
  await runTool(folder, ['sign', '--new-key', 'key.pem'])
  const [, next = ''] = /public {2}(\S+)/.exec((await runTool(folder, ['sign', '--new-key', 'other.pem'])).stdout) ?? []
  const release = (...given: string[]) => runTool(folder, ['release', ...given, '--changelog', 'new.md', '--yes'])
  const first = await release('--key', 'key.pem', '--next', next, '--name', 'Own', '--url', 'https://example.org/p/')
  t.equal(first.code, 0, first.output)
  const index = () => readFile(path.join(folder, 'releases/index.json'), 'utf8')
  const before = await index()
  const second = await release('patch', '--key', 'other.pem')
  t.equal(second.code, 0, second.output)
  t.match(
    second.output.replaceAll(/\s+/g, ' '),
    /✔ releases\/\S+-1\.0\.1\.plugin .* ! \S+ is signed by \S+, .* The index was not written\. Write it with its key: /,
  )
  t.equal(await index(), before)
  t.match(await runTool(folder, ['index', 'releases', '--key', 'key.pem']), { code: 0, stdout: /number 2: 1 plugin, 2 versions/ })
})
