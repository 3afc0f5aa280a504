import { readFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { BREAKER } from '#plugins/host/circuit-breaker.ts'
import { ENTRIES_PAGE } from '#plugins/host/library-entry-query.ts'
import { QUARANTINE } from '#plugins/host/plugin-health.ts'
import { pluginProgram } from '#plugins/host/plugin-program.ts'
import { RESULT_SCHEMAS } from '#plugins/host/results.ts'
import { HOST_RATE_MAX, LOAD, REFRESH, SETUP } from '#plugins/packages/budgets.ts'
import { DEFAULT_LIMITS, Manifest } from '#plugins/packages/manifest.ts'
import { CONFIG_LENGTH_MAX } from '#plugins/packages/plugin-config.ts'
import { CODE_BYTES_MAX } from '#plugins/packages/plugin-package.ts'
import { PACKAGE_BYTES_MAX } from '#plugins/packages/zip.ts'
import { JSON_BOUNDS, REQUESTED_LENGTH_MAX, requestLengthMax } from '#plugins/runtime/guest-text.ts'
import { ROOT } from '#test/support/sdk-install.ts'

/** The value of a named constant in a file; the constants are not exported. */
async function numbersOf(file: string): Promise<(name: string) => number> {
  const text = await readFile(path.join(ROOT, file), 'utf8')
  return (name) => {
    const [, value = ''] = new RegExp(`\\b${name}(?: =|:) ((?:[\\d_]+|KB)(?: \\* (?:[\\d_]+|KB))*)`).exec(text) ?? []
    const factors = value.split(' * ').map((factor) => (factor === 'KB' ? 1024 : Number(factor.replaceAll('_', ''))))
    const number = factors.reduce((product, factor) => product * factor, 1)
    if (value === '' || !Number.isSafeInteger(number)) throw new Error(`${file} has no number called ${name}`)
    return number
  }
}
const most = (schema: object) => Number((schema as { maximum?: number }).maximum)
const grouped = (number: number) => number.toLocaleString('en')
const seconds = (ms: number) => `${ms / 1_000} s`
const minutes = (ms: number) => `${ms / 60_000} min`
const mb = (bytes: number) => `${bytes / 1024 / 1024} MB`
const kb = (bytes: number) => `${bytes / 1024} KB`

async function rowsOfCode(): Promise<[limit: string, standard: string, most: string][]> {
  const calls = await numbersOf('plugins/host/plugin-calls.ts')
  const locales = await numbersOf('plugins/packages/locales.ts')
  const { plugin, ...program } = pluginProgram({
    manifest: { id: 'a.b', capabilities: {} } as unknown as Manifest,
    code: '',
    place: '',
    methods: [],
  })
  const callLimits = plugin as NonNullable<typeof plugin>
  const host = await numbersOf('plugins/host/host-calls.ts')
  const config = await numbersOf('plugins/packages/plugin-config.ts')
  const [egress, request, turns, credential] = [
    await numbersOf('plugins/network/https-egress.ts'),
    await numbersOf('plugins/network/request.ts'),
    await numbersOf('plugins/network/host-rate-limiter.ts'),
    await numbersOf('plugins/network/credential.ts'),
  ]
  const [map, guestText] = [await numbersOf('plugins/packages/source-map.ts'), await numbersOf('plugins/runtime/guest-text.ts')]
  const sandbox = await numbersOf('plugins/runtime/runner/sandbox-timers.mjs')
  const [html, xml] = [await numbersOf('plugin-sdk/html.ts'), await numbersOf('plugin-sdk/xml.ts')]
  t.same([html('HTML_LENGTH_MAX'), html('ELEMENTS_MAX')], [xml('XML_LENGTH_MAX'), xml('ELEMENTS_MAX')], 'both parsers have the same limits')
  const places = await readFile(path.join(ROOT, 'plugins/packages/plugin-package.ts'), 'utf8')
  const placeOf = (name: string) => {
    const [, value = ''] =
      places
        .split('\n')
        .find((line) => line.trim().startsWith('[/^') && line.includes(name))
        ?.match(/, ([\w* ]+)\],/) ?? []
    if (value === 'MANIFEST_BYTES_MAX') return 64 * 1024
    return value.split(' * ').reduce((product, factor) => product * (factor === 'KB' ? 1024 : Number(factor)), 1)
  }
  const { limits, permissions, http } = Manifest.properties
  const { heapMB, cpuMs, wallMs } = limits.properties
  const [refresh, load, setup] = [REFRESH, LOAD, SETUP]
  const listMax = (schema: object) => (schema as { maxItems: number }).maxItems
  return [
    ['Memory of a sandbox (`limits.heapMB`)', `${DEFAULT_LIMITS.heapMB} MB`, `${most(heapMB)} MB`],
    ['CPU time of a call (`limits.cpuMs`)', `${DEFAULT_LIMITS.cpuMs} ms`, `${grouped(most(cpuMs))} ms`],
    ['Duration of a call (`limits.wallMs`)', seconds(DEFAULT_LIMITS.wallMs), seconds(most(wallMs))],
    ['`refresh`, `migrate`', '', `${seconds(refresh.cpuMs)} of CPU time, ${seconds(refresh.wallMs)}`],
    ['Loading `main.js`', '', `${load.cpuMs} ms of CPU time, ${seconds(load.wallMs)}`],
    ['`setup`', '', `${setup.cpuMs} ms of CPU time, ${seconds(setup.wallMs)}`],
    ['Concurrent calls, and queued calls', '', `${program.concurrency}, and ${program.queueMax}`],
    ['Pending timers, and their delay', '', `${sandbox('max')}, and ${seconds(sandbox('msMax'))}`],
    ['Input of a call, as JSON', '', `${calls('INPUT_LENGTH_MAX') / 1024 / 1024} M characters`],
    ['Configuration, and that of a user, as JSON', '', `${CONFIG_LENGTH_MAX / 1024} K characters each`],
    [
      'Members of a configuration; length of texts and lists, and form hints of each',
      '',
      `${config('PROPERTIES_MAX')}; ${grouped(config('TEXT_LENGTH_MAX'))} characters, ${config('LIST_MAX')} entries, ${config('HINTS_MAX')}`,
    ],
    ['Answer, as JSON', '', `${program.resultLengthMax / 1024 / 1024} M characters`],
    ['Values in an answer or a request to the server; their depth', '', `${grouped(JSON_BOUNDS.valuesMax)}; ${JSON_BOUNDS.depthMax}`],
    [
      'Results of a search, and recommendations',
      '',
      `${listMax(RESULT_SCHEMAS['metadata.book.search'].properties.results)}, and ${listMax(RESULT_SCHEMAS['recommendations.get'].properties.recommendations)}`,
    ],
    ['Alternate titles of a result or a series', '', `${listMax(RESULT_SCHEMAS['metadata.series.get'].properties.alternateTitles)}`],
    [
      'Identifiers at other services (`externalIds`)',
      '',
      `${(RESULT_SCHEMAS['metadata.series.get'].properties.externalIds as { maxProperties?: number }).maxProperties}; names of 100 characters, values of 200`,
    ],
    [
      'Genres, tags, subjects, people, `basedOn`',
      '',
      `${listMax(RESULT_SCHEMAS['metadata.series.get'].properties.genres)} each; 200 characters, names of people 500`,
    ],
    [
      'Links (`externalLinks`)',
      '',
      `${listMax(RESULT_SCHEMAS['metadata.series.get'].properties.externalLinks)}; addresses of 2,000 characters`,
    ],
    ['Texts: titles, summaries, reasons', '', '1,000, 40,000, 2,000 characters'],
    ['Log of one call', '', `${callLimits.logLines} lines, ${callLimits.logLength / 1024} K characters; 2,048 per line`],
    ['`main.js.map` in a package', '', mb(placeOf('main\\.js\\.map$/'))],
    ['Files that it names; characters of a name', '', `${grouped(map('SOURCES_MAX'))}; ${map('SOURCE_LENGTH_MAX')}`],
    ['Characters of its mappings', '', `${map('MAPPINGS_LENGTH_MAX') / 1024 / 1024} M`],
    ['Stack frames that are resolved', '', String(guestText('PLACES_MAX'))],
    ['All requests of a call to the server, as JSON', '', `${REQUESTED_LENGTH_MAX / 1024 / 1024} M characters`],
    [
      'One request to `fetch`, `storage.set`, `crypto`, any other, as JSON',
      '',
      `${['fetch', 'storage.set', 'crypto.hmac', 'sleep'].map((kind) => grouped(requestLengthMax(kind))).join(', ')} characters`,
    ],
    ['Requests to the server per call, and at a time', '', `${callLimits.hostCalls}, and ${callLimits.inFlight}; more wait`],
    ['A page of the library', '', `${ENTRIES_PAGE} series`],
    [
      'Storage (`permissions.storage.quotaKB`)',
      'none',
      `${most(permissions.properties.storage.properties.quotaKB) / 1024} MB, ${grouped(host('KEYS_MAX'))} keys`,
    ],
    ['One key, one value as JSON', '', `${host('KEY_LENGTH_MAX')}, and ${host('VALUE_LENGTH_MAX') / 1024} K characters`],
    ['Time to live of a value', 'forever', `${host('TTL_SECONDS_MAX') / 86_400} days`],
    ['`ctx.sleep`', '', seconds(host('SLEEP_MS_MAX'))],
    ['Text to hash', '', `${host('TEXT_LENGTH_MAX') / 1024 / 1024} M characters`],
    ['Timeout of a `fetch` (`timeoutMs`)', seconds(egress('DEADLINE_MS_MAX')), seconds(egress('DEADLINE_MS_MAX'))],
    ['Redirects of a `fetch`', '', String(egress('REDIRECTS_MAX'))],
    ['Address, headers of a request', '', `${grouped(request('URL_LENGTH_MAX'))} characters, ${request('HEADERS_MAX')}`],
    ['Request body', '', mb(request('BODY_BYTES_MAX'))],
    ['Body into which credentials are inserted', '', `${credential('BODY_LENGTH_MAX') / 1024} K characters`],
    ['Response body, decompressed', '', mb(egress('RESPONSE_BYTES_MAX'))],
    [
      'Requests of one plugin to one host (`http.rateLimit`)',
      'no limit of its own',
      `the stated one, at most ${HOST_RATE_MAX.perMinute} per minute after a burst of ${HOST_RATE_MAX.burst}, ${turns('PARALLEL_MAX')} at a time`,
    ],
    [
      'Requests to one host, by all plugins',
      `burst of ${HOST_RATE_MAX.burst}, then ${HOST_RATE_MAX.perMinute / 60} per second`,
      'the same',
    ],
    ['Concurrent requests of one plugin', '', String(turns('PARALLEL_MAX'))],
    ['Caching of responses (`http.cacheTtl`)', 'none', `${most(http.properties.cacheTtl.properties.get) / 86_400} days`],
    ['Package, `main.js`, `main.js.map`', '', [PACKAGE_BYTES_MAX, CODE_BYTES_MAX, placeOf('main\\.js\\.map$/')].map(mb).join(', ')],
    ['`manifest.json`, icon, README and the like', '', [placeOf('manifest\\.json'), placeOf('icon'), placeOf('README')].map(kb).join(', ')],
    [
      '`locales/<language>.json`, each text in it',
      '',
      `${kb(placeOf('locales'))} and ${locales('TEXTS_MAX')} texts, ${grouped(locales('TEXT_LENGTH_MAX'))} characters`,
    ],
    ['A page or a feed to parse', '', `${html('HTML_LENGTH_MAX') / 1024 / 1024} M characters, ${grouped(html('ELEMENTS_MAX'))} elements`],
    ['Failures until a capability is paused', '', `${BREAKER.failures} of the last ${BREAKER.of} calls`],
    ['Terminated sandboxes until a plugin is quarantined', '', `${QUARANTINE.failures} within ${QUARANTINE.minutes} min`],
  ]
}

const rowsOf = (text: string) =>
  [...text.matchAll(/^\| (.*) \|$/gm)]
    .map(([, row = '']) => row.split(/(?<!\\) ?\| ?/).map((cell) => cell.trim()))
    .filter(([first = '']) => first !== 'Limit' && !/^-+$/.test(first))

t.test('every row of the page of limits matches the code and has a reason', async (t) => {
  const page = await readFile(path.join(ROOT, 'docs', 'plugin-limits.md'), 'utf8')
  const written = rowsOf(page)
  t.same(
    written.map((row) => row.slice(0, 3)),
    await rowsOfCode(),
  )
  for (const [limit, , , why = ''] of written) t.ok(why.length > 10, `${limit}: why`)
  t.match(page, `For ${seconds(BREAKER.firstMs)}, then twice as long each time up to ${minutes(BREAKER.lastMs)}`)
})

t.test('the reference of the SDK has the same numbers', async (t) => {
  const reference = await readFile(path.join(ROOT, 'plugin-sdk', 'REFERENCE.md'), 'utf8')
  const [, section = ''] = reference.split(/^## Limits$/m)
  const written = rowsOf(section.split(/^## /m)[0] ?? '')
  const known = new Map((await rowsOfCode()).map((row) => [row[0], row]))
  t.ok(written.length >= 20)
  for (const row of written) t.same(row, known.get(row[0] ?? ''), String(row[0]))
})
