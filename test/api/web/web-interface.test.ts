import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { webPlaces } from '#api/web/build.ts'
import { WebInterface } from '#api/web/web-interface.ts'
import { type Log, silentLog } from '#core/foundation/log.ts'
import { OWN_PATH_WORDS } from '#core/settings/chosen-setting.ts'
import { get, openTestServer } from '#test/support/server.ts'
import { ADDRESSES } from '../../../web/src/app/addresses.ts'

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function makeRoot(t: Test): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'carrel-web-'))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  await mkdir(path.join(root, 'web', 'src'), { recursive: true })
  return root
}

/** Writes what a build leaves. */
async function writeBuild(folder: string): Promise<void> {
  await mkdir(path.join(folder, 'assets'), { recursive: true })
  await writeFile(path.join(folder, 'index.html'), '<!doctype html><html lang="en"><head><title>Carrel</title></head><body></body></html>')
  await writeFile(path.join(folder, 'server.json'), JSON.stringify({ addresses: ADDRESSES, styles: ["'sha256-x'"] }))
  await writeFile(path.join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  await writeFile(path.join(folder, 'assets', 'main-1.js'), 'let a = 1')
  await writeFile(path.join(folder, 'assets', 'main-1.js.br'), brotliCompressSync('let a = 1'))
}

/** A program in the place of web/build.mjs. */
const writeProgram = (root: string, text: string) => writeFile(path.join(root, 'web', 'build.mjs'), text)

async function openWeb(t: Test, root: string, { mayBuild = false, log = silentLog }: { mayBuild?: boolean; log?: Log } = {}) {
  const readStart = async () => ({ name: 'Harbor Street', hasDocs: false })
  const web = new WebInterface({ places: webPlaces(root), mayBuild, readStart, log })
  const server = await openTestServer(t, { admin: false, server: { web } })
  t.teardown(() => web.close())
  const load = async (address: string, headers: Record<string, string> = HTML) => {
    const { bytes, ...rest } = await get(server.url + address, { headers })
    return { ...rest, text: bytes.toString(), bytes }
  }
  return { web, load, server }
}

t.test('Every address of the interface answers the page to browsers, with a base that leads to the address of the server', async (t) => {
  const root = await makeRoot(t)
  await writeBuild(path.join(root, 'web', 'built'))
  const { web, load } = await openWeb(t, root)
  await web.start()
  for (const [address, base] of [
    ['/', './'],
    ['/series', './'],
    ['/series/', '../'],
    ['/books/a%20b/read?page=3', '../../'],
  ] as const) {
    const { status, text, headers } = await load(address)
    t.equal(status, 200, address)
    t.match(text, `<base href="${base}">`, address)
    t.match(headers['content-security-policy'], "style-src 'self' 'sha256-x';")
    t.match(headers['content-security-policy'], "script-src 'self';")
    t.equal(headers['cache-control'], 'no-cache')
    const again = await load(address, { ...HTML, 'if-none-match': String(headers.etag) })
    t.equal(again.status, 304)
    t.equal(again.headers['content-security-policy'], headers['content-security-policy'], 'a 304 must not replace the policy of the page')
  }
})

t.test('The tools of a build see no setting of the server in their environment', async (t) => {
  const root = await makeRoot(t)
  const npm = path.join(root, 'npm-cli.mjs')
  await writeFile(npm, 'process.stderr.write(Object.entries(process.env).sort().join("\\n").slice(-3000)); process.exit(1)')
  const given = { CARREL_JWT_KEY: 'secret-1', DATABASE_URL: 'postgres://user:secret-2@host/db', PGPASSWORD: 'secret-3', npm_execpath: npm }
  const before = Object.fromEntries(Object.keys(given).map((name) => [name, process.env[name]]))
  Object.assign(process.env, given)
  t.teardown(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  await copyFile(new URL('../../../web/build.mjs', import.meta.url), path.join(root, 'web', 'build.mjs'))
  await writeFile(path.join(root, 'web', 'package-lock.json'), JSON.stringify({ packages: { 'node_modules/react': { version: '1.0.0' } } }))
  const { web, load } = await openWeb(t, root, { mayBuild: true })
  await web.start()
  const { text } = await load('/')
  t.match(text, 'npm-cli.mjs')
  t.notMatch(text, /secret-[123]/)
})

t.test('Unknown addresses get the page with status 404 in browsers, but never below the addresses of programs', async (t) => {
  const root = await makeRoot(t)
  await writeBuild(path.join(root, 'web', 'built'))
  const { web, load } = await openWeb(t, root)
  await web.start()
  for (const address of ['/nothing', '/books/1/2/3', '/komga/nothing']) {
    const { status, headers } = await load(address)
    t.equal(status, 404, address)
    t.match(headers['content-type'], 'text/html', address)
    t.equal(headers.etag, undefined)
  }
  for (const address of ['/api/nothing', '/api', '/opds/nothing', '/koreader/nothing', '/metrics', '/health/nothing']) {
    const { status, headers } = await load(address)
    t.equal(status, 404, address)
    t.match(headers['content-type'], 'application/json', address)
  }
  t.match((await load('/nothing', { accept: '*/*' })).headers['content-type'], 'application/json', 'programs get JSON')
  t.match((await load('/', { accept: '*/*' })).text, 'opds/v1/catalog', 'programs get the list of addresses')
})

t.test('Files with a hash in their name are immutable and have compressed forms', async (t) => {
  const root = await makeRoot(t)
  await writeBuild(path.join(root, 'web', 'built'))
  const { web, load } = await openWeb(t, root)
  await web.start()
  const packed = await load('/assets/main-1.js', { 'accept-encoding': 'gzip, br' })
  t.equal(brotliDecompressSync(packed.bytes).toString(), 'let a = 1')
  t.equal(packed.headers['content-encoding'], 'br')
  t.match(packed.headers['cache-control'], 'immutable')
  t.match(packed.headers.vary, 'Accept-Encoding')
  const plain = await load('/assets/main-1.js', { 'accept-encoding': 'br;q=0' })
  t.equal(plain.text, 'let a = 1')
  t.not(plain.headers.etag, packed.headers.etag)
  t.match((await load('/icon.svg')).headers, { 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' })
  t.equal((await load('/assets/gone.js', { accept: '*/*' })).status, 404)
})

t.test('A missing interface is built in the background, and the page says so until it is there', async (t) => {
  const root = await makeRoot(t)
  await writeProgram(
    root,
    `import fs from 'node:fs'
process.stdout.write('installing\\n')
const wait = () => fs.existsSync(${JSON.stringify(path.join(root, 'go'))}) ? finish() : setTimeout(wait, 20)
const finish = () => fs.cpSync(${JSON.stringify(path.join(root, 'ready'))}, process.argv[2], { recursive: true })
wait()`,
  )
  await writeBuild(path.join(root, 'ready'))
  const { web, load } = await openWeb(t, root, { mayBuild: true })
  const started = web.start()
  let page = await load('/')
  while (!page.text.includes('installed')) page = await load('/')
  t.match(page.text, '<meta http-equiv="refresh"')
  t.match(page.text, 'opds/v1/catalog')
  t.equal(page.headers['cache-control'], 'no-store')
  t.equal((await load('/books/1')).status, 503)
  await writeFile(path.join(root, 'go'), '')
  await started
  t.match((await load('/books/1')).text, '<base href="../">')

  // The next start finds it and builds nothing.
  const again = await openWeb(t, root, { mayBuild: false })
  await again.web.start()
  t.match((await again.load('/')).text, '<base href="./">')
})

t.test('A build that fails shows why, with the other addresses, and the server goes on', async (t) => {
  const root = await makeRoot(t)
  await writeProgram(root, `process.stderr.write('no <registry>\\n'); process.exitCode = 1`)
  const { web, load } = await openWeb(t, root, { mayBuild: true })
  await web.start()
  const { status, text } = await load('/')
  t.equal(status, 200)
  t.match(text, 'could not be built')
  t.match(text, 'no &lt;registry&gt;')
  t.match(text, 'opds/v1/catalog')
  t.notMatch(text, 'http-equiv')
  t.match((await load('/books/1')).headers['content-type'], 'application/json')
  t.equal((await load('/health', {})).status, 200)
})

t.test('Nothing is built when the setting forbids it or the sources are missing', async (t) => {
  const root = await makeRoot(t)
  await writeProgram(root, `process.exitCode = 1`)
  const forbidden = await openWeb(t, root)
  await forbidden.web.start()
  t.notMatch((await forbidden.load('/')).text, 'could not be built')
  t.match((await forbidden.load('/')).text, 'opds/v1/catalog')

  const without = await openWeb(t, path.join(root, 'nowhere'), { mayBuild: true })
  await without.web.start()
  t.match((await without.load('/')).text, 'could not be built')
})

t.test('Closing ends a build that runs', async (t) => {
  const root = await makeRoot(t)
  await writeProgram(root, `process.stdout.write('building\\n'); setInterval(() => {}, 1000)`)
  const { web, load } = await openWeb(t, root, { mayBuild: true })
  const started = web.start()
  while (!(await load('/')).text.includes('few seconds'));
  await web.close()
  await started
})

t.test('No other protocol may be served below a name of the interface', (t) => {
  const words = new Set(ADDRESSES.map((address) => address.split('/')[1]).filter((word) => word !== ''))
  for (const word of ['assets', 'icon.svg', 'manifest.webmanifest']) words.add(word)
  for (const word of words) t.ok(OWN_PATH_WORDS.includes(`${word}`), `${word}`)
  t.end()
})
