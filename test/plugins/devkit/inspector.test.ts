import { readFileSync } from 'node:fs'
import { glob, rename, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { SourceMap } from 'node:module'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { runCommandLine } from '#plugins/devkit/command-line.ts'
import { pluginProgram } from '#plugins/host/plugin-program.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { runDev } from '#test/support/dev-process.ts'
import { freePort } from '#test/support/free-port.ts'
import { onlyFull } from '#test/support/lane-size.ts'
import { openPluginFolder } from '#test/support/plugin-projects.ts'
import { manifestOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const PATIENCE_MS = 60_000
/** The time limit in the manifest of the test, and how long the breakpoint lasts. */
const WALL_MS = 3_000
const PAUSE_MS = 4_000

const SOURCE = `import { definePlugin } from '@carrel/plugin-sdk'

interface Found { externalId: string; title: string }

export default definePlugin({
  metadata: {
    series: {
      search({ query, limit }) {
        const secret: string = \`\${query}-\${limit}\`
        const results: Found[] = [{ externalId: '1', title: secret }]
        return { results }
      },
      async get({ externalId }) {
        const size = { bomb: 200_000, 'small bomb': 500 }[externalId]
        if (size) for (const kept: unknown[] = []; ; ) kept.push(new Array(size).fill(externalId))
        for (const until = externalId === 'spin' ? Infinity : 0; Date.now() < until; );
        return { externalId, title: externalId }
      },
    },
  },
})
`
const SEARCH = { method: 'metadata.series.search', input: { query: 'echo', limit: 3 } }

async function startDev(t: Test, folder: string, given: string[]) {
  const { says, end, said, ended } = runDev(t, folder, given)
  const [page] = await says(/http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\//g)
  await says(/✔ Built 1\.0\.0/g)
  const call = async (body: unknown) => {
    const response = await fetch(`${page}call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, unknown>
  }
  return { says, call, end, said, ended }
}

interface Notice {
  method: string
  params: Record<string, unknown>
}

/** A debugger. */
async function openDebugger(t: Test, url: string) {
  const socket = new WebSocket(url)
  t.teardown(() => socket.terminate())
  const notices: Notice[] = []
  const asked = new Map<number, (answer: Record<string, unknown>) => void>()
  const strays: Record<string, unknown>[] = []
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as { id?: number } & Notice & Record<string, unknown>
    const answer = message.id === undefined ? undefined : asked.get(message.id)
    if (answer) answer(message)
    else if (message.method !== undefined) notices.push(message)
    else strays.push(message)
  })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  let last = 0
  const ask = (method: string, params: Record<string, unknown> = {}) =>
    new Promise<{ result: Record<string, unknown>; error?: { message: string } }>((resolve) => {
      last += 1
      asked.set(last, resolve as never)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  const waitFor = async (method: string, fits: (params: Record<string, unknown>) => boolean = () => true) => {
    for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await sleep(10)) {
      const at = notices.findIndex((notice) => notice.method === method && fits(notice.params))
      if (at >= 0) return (notices.splice(0, at + 1).at(-1) as Notice).params
    }
    throw new Error(`No ${method} came, but ${notices.map((notice) => notice.method).join(', ')}`)
  }
  return { ask, waitFor, socket, notices, strays }
}

const isMain = ({ url }: Record<string, unknown>) => String(url).endsWith('/main.js')

/** The position of a line of the author's source in the running code, by the script's own map. */
function placeOf(script: Record<string, unknown>, text: string): { lineNumber: number; columnNumber: number } {
  const [, base64 = ''] = /^data:application\/json;base64,(.*)$/.exec(String(script.sourceMapURL)) ?? []
  const payload = JSON.parse(Buffer.from(base64, 'base64').toString('utf8'))
  const map = new SourceMap(payload)
  const at = payload.sources.indexOf('src/main.ts')
  const line = String(payload.sourcesContent[at])
    .split('\n')
    .findIndex((one: string) => one.includes(text))
  for (let lineNumber = 0; lineNumber <= Number(script.endLine); lineNumber++)
    for (let columnNumber = 0; columnNumber < 20; columnNumber++) {
      const found = map.findEntry(lineNumber, columnNumber)
      if (
        'originalLine' in found &&
        found.originalSource === 'src/main.ts' &&
        found.originalLine === line &&
        found.generatedLine === lineNumber
      )
        return { lineNumber, columnNumber: found.generatedColumn }
    }
  throw new Error(`${text} is not in what runs`)
}

const openFolder = (t: Test) =>
  openPluginFolder(t, {
    manifest: { limits: { cpuMs: 2_000, wallMs: WALL_MS, heapMB: 32 } },
    files: { 'src/main.ts': SOURCE, 'calls/search.json': null },
  })

async function startInspected(t: Test) {
  const port = await freePort()
  const folder = await openFolder(t)
  const dev = await startDev(t, folder, ['--inspect', String(port)])
  const [, at] = await dev.says(
    new RegExp(`devtools://devtools/bundled/js_app\\.html\\?\\S*&ws=(127\\.0\\.0\\.1:${port}/[0-9a-f]{32})`, 'g'),
  )
  return { ...dev, port, folder, url: `ws://${at}` }
}

t.test('a breakpoint in the author’s source pauses a call beyond its time limit', onlyFull, async (t) => {
  const { url, call, folder, says } = await startInspected(t)
  const { ask, waitFor, socket, notices } = await openDebugger(t, url)
  await ask('Runtime.enable')
  await ask('Debugger.enable')
  const script = await waitFor('Debugger.scriptParsed', isMain)
  t.match(script.url, /^file:\/\/\/.*\/main\.js$/)
  const place = placeOf(script, 'return { results }')
  const set = await ask('Debugger.setBreakpointByUrl', { url: script.url, ...place })
  t.match(set.result.locations, [{ lineNumber: place.lineNumber }])

  const at = performance.now()
  const calling = call(SEARCH)
  await waitFor('Runtime.executionContextsCleared')
  const paused = await waitFor('Debugger.paused')
  const [frame] = paused.callFrames as { callFrameId: string; functionName: string; location: { lineNumber: number } }[]
  t.match(frame, { functionName: 'search', location: { lineNumber: place.lineNumber } })
  t.match(paused.hitBreakpoints, [set.result.breakpointId], 'a breakpoint of one sandbox also applies to the next')
  await sleep(PAUSE_MS)
  const read = async (expression: string) =>
    (await ask('Debugger.evaluateOnCallFrame', { callFrameId: frame?.callFrameId, expression, returnByValue: true })).result.result
  t.match(await read('secret'), { value: 'echo-3' })
  t.match(await read('results'), { value: [{ externalId: '1', title: 'echo-3' }] })
  // As debuggers do when they fill their panels: many requests at once, sent the moment the previous one is done.
  const many = await Promise.all(Array.from({ length: 200 }, (_each, n) => sleep(n % 40).then(() => read(`limit + ${n}`))))
  t.same(
    many.map((one) => (one as { value: number }).value),
    many.map((_one, n) => n + 3),
    'all are answered',
  )
  await read('secret = "changed"; results[0].title = "changed"')
  await ask('Debugger.resume')
  t.match(await calling, { answer: { results: [{ externalId: '1', title: 'changed' }] } })
  t.ok(performance.now() - at > PAUSE_MS)

  t.comment('a new build')
  // Put there as a whole: a file that is written in place is empty for a moment, and an empty one can be built.
  await writeFile(`${folder}.new`, SOURCE.replace("'1', title", "'2', title"))
  await rename(`${folder}.new`, path.join(folder, 'src/main.ts'))
  await says(/✔ Built 1\.0\.0/g, 2)
  await waitFor('Debugger.scriptParsed', isMain)
  const second = call(SEARCH)
  await waitFor('Debugger.paused')
  socket.close()
  t.match(await second, { answer: { results: [{ externalId: '2' }] } }, 'it continues without a debugger')
  t.equal(notices.filter(({ method }) => method === 'Debugger.paused').length, 0)
})

t.test('time limits are suspended while a debugger is connected; the memory limit is not', onlyFull, async (t) => {
  const { url, call } = await startInspected(t)
  const get = (externalId: string) => call({ method: 'metadata.series.get', input: { externalId } })
  t.match(await get('spin'), { code: /^(cpu|timeout)$/ }, 'nobody debugs')
  // On a busy machine filling the memory may take longer than the time limit.
  t.match(await get('bomb'), { code: /^(memory|cpu|timeout)$/ }, 'any limit may come first')

  const { ask, waitFor, socket } = await openDebugger(t, url)
  await ask('Runtime.enable')
  await ask('Debugger.enable')
  const spinning = get('spin')
  await waitFor('Debugger.scriptParsed', isMain)
  t.equal(await Promise.race([spinning, sleep(PAUSE_MS, 'still there')]), 'still there')
  await ask('Debugger.pause')
  await waitFor('Debugger.paused')
  await ask('Debugger.resume')
  t.equal(await Promise.race([spinning, sleep(500, 'still there')]), 'still there')
  const at = performance.now()
  socket.close()
  t.match(await spinning, { code: /^(cpu|timeout)$/ })
  t.ok(performance.now() - at < 20_000)

  const again = await openDebugger(t, url)
  await again.ask('Debugger.enable')
  t.match(
    await get('bomb'),
    { code: /^(memory|crash)$/ },
    'V8 allows a debugger more memory, and code that needs it at once ends the process',
  )
  t.match(await get('small bomb'), { code: /^(memory|crash)$/ })
  t.match(await get('1'), { answer: { externalId: '1' } })
  t.comment('by an expression of the debugger')
  t.ok((await again.ask('Debugger.enable')).result.debuggerId)
  const bomb = await again.ask('Runtime.evaluate', {
    expression: 'for (const kept = []; ; ) kept.push(new Array(200_000).fill(kept.length))',
  })
  t.ok(bomb.error, 'it has gone')
  t.match(await get('2'), { answer: { externalId: '2' } })
})

const ask = (port: number, place: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; headers: http.IncomingHttpHeaders; body: unknown }>((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port, path: place, headers, agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) }))
      })
      .on('error', reject)
  })

/** The status of the refusal; 101 when it is accepted. */
const join = (url: string, options: { origin?: string; headers?: Record<string, string> } = {}) =>
  new Promise<number>((resolve, reject) => {
    const socket = new WebSocket(url, options)
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0))
    socket.once('open', () => {
      socket.terminate()
      resolve(101)
    })
    socket.once('error', reject)
  })

t.test('debuggers can connect, and web pages are refused', async (t) => {
  const { url, port, call, end } = await startInspected(t)
  const [target] = (await ask(port, '/json')).body as [Record<string, string>]
  t.match(target, { type: 'node', title: 'org.example.echo', webSocketDebuggerUrl: url })
  t.match(target.devtoolsFrontendUrl, /^devtools:\/\/devtools\//)
  t.same((await ask(port, '/json/list')).body, [target])
  t.match(await ask(port, '/json/version'), { status: 200, body: { Browser: /^Carrel\// } })
  t.equal((await ask(port, '/anything')).status, 404)

  const evil = 'https://evil.example'
  const strange: Record<string, string>[] = [
    { origin: evil },
    { origin: 'null' },
    { host: 'evil.example' },
    { host: `evil.example:${port}` },
  ]
  for (const headers of strange) {
    const { status, headers: got, body } = await ask(port, '/json', headers)
    t.equal(status, 403, JSON.stringify(headers))
    t.notMatch(JSON.stringify(body), new URL(url).pathname.slice(1))
    t.equal(got['access-control-allow-origin'], undefined)
  }
  for (const origin of [evil, 'null', `http://127.0.0.1:${port}`, 'https://devtools', 'http://devtools://devtools'])
    t.equal(await join(url, { origin }), 403, origin)
  t.equal(await join(url, { headers: { host: `evil.example:${port}` } }), 403)
  t.equal(await join(`ws://127.0.0.1:${port}/${'0'.repeat(32)}`), 404)
  t.equal(await join(`ws://127.0.0.1:${port}/`), 404)
  t.equal(await join(url, { origin: 'devtools://devtools' }), 101)
  // The endpoint has seen the end of the last connection.
  await sleep(100)

  const first = await openDebugger(t, url)
  t.equal(await join(url), 409, 'one at a time')
  await first.ask('Runtime.enable')
  const nonsense = ['', 'x', '[]', 'null', '{}', '{"id":-1,"method":"Debugger.enable"}', '{"id":1e300,"method":"x"}', '{"id":5,"method":7}']
  for (const text of [...nonsense, '{"id":6,"method":"x","params":[]}']) first.socket.send(text)
  t.match(await first.ask('Runtime.carrel'), { error: { code: -32601 } }, 'V8 says so itself')
  t.equal(first.strays.length, nonsense.length + 1)
  t.ok(first.strays.every(({ id, error }) => id === null && error !== undefined))
  t.match(await call(SEARCH), { answer: { results: [{ title: 'echo-3' }] } }, 'it goes on')
  const closed = new Promise((resolve) => first.socket.once('close', resolve))
  first.socket.send(Buffer.from([1, 2, 3]))
  t.equal(await closed, 1003)

  const { code, stderr } = await refused(t, ['--inspect', String(port)])
  t.equal(code, 1)
  t.match(stderr, `Port ${port} is in use`)
  t.equal(await end(), 0)
  await t.rejects(ask(port, '/json'), { code: 'ECONNREFUSED' })
})

async function refused(t: Test, given: string[]) {
  let stderr = ''
  const code = await runCommandLine(['dev', ...given], {
    cwd: await openFolder(t),
    out: { line() {}, paint: (_style, text) => text },
    printError: (text) => {
      stderr += text
    },
    stop: AbortSignal.timeout(PATIENCE_MS),
  })
  return { code, stderr }
}

t.test('the flag for a debugger takes only a port', async (t) => {
  t.match((await refused(t, ['--inspect', 'x'])).stderr, '--inspect must be a whole number from 1 to 65535')
  t.match((await refused(t, ['--inspect=70000'])).stderr, '--inspect must be a whole number')
  t.match((await refused(t, ['--inspect=9300', '9301'])).stderr, 'Unexpected argument "9301".')
  t.match((await refused(t, ['9301'])).stderr, 'Unexpected argument "9301".')
})

t.test('without the flag there is no endpoint', async (t) => {
  const { createServer } = http
  let servers = 0
  t.teardown(() => Object.assign(http, { createServer }))
  Object.assign(http, {
    createServer: (...given: Parameters<typeof createServer>) => {
      servers += 1
      return createServer(...given)
    },
  })
  const { call, said } = await startDev(t, await openFolder(t), [])
  t.equal(servers, 1, 'the server of the page')
  t.notMatch(said(), /devtools:|ws:/)
  t.match(await call(SEARCH), { answer: { results: [{ title: 'echo-3' }] } })
  t.match(await call({ method: 'metadata.series.get', input: { externalId: 'spin' } }), { code: /^(cpu|timeout)$/ })
})

t.test('no program of the server has an inspector', async (t) => {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  /** An assignment to a member of that name, in an object or afterwards. */
  const sets = /(?<![\w.?'"])inspect\s*[:,}]|\.inspect\s*=[^=]|\.\.\.\w*inspect/i
  const found: string[] = []
  let read = 0
  for (const folder of ['api', 'core', 'plugins', 'workers', 'migrations'])
    for await (const file of glob(`${folder}/**/*.{ts,mjs}`, { cwd: root })) {
      if (file.startsWith(path.join('plugins', 'devkit', '/')) || /\bnode_modules\b/.test(file)) continue
      read += 1
      if (sets.test(readFileSync(path.join(root, file), 'utf8'))) found.push(file)
    }
  t.ok(read > 100, `${read} files`)
  t.same(found, [])
  for (const text of ['{ inspect }', '{ inspect: inspector }', '{ a, inspect, b }', 'program.inspect = one', '{ ...inspectIt }'])
    t.match(text, sets)
  const manifest = readManifest(Buffer.from(JSON.stringify(manifestOf())))
  t.notOk('inspect' in pluginProgram({ manifest, code: '', place: 'a', methods: [] }))
})
