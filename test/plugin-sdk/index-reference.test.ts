import { readFile } from 'node:fs/promises'
import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { CAPABILITY_METHODS, DEFAULT_LIMITS, LIBRARY_SCOPES, Manifest } from '#plugins/packages/manifest.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import * as html from '../../plugin-sdk/html.ts'
import * as kit from '../../plugin-sdk/index.ts'
import * as testing from '../../plugin-sdk/testing.ts'
import * as text from '../../plugin-sdk/text.ts'
import * as xml from '../../plugin-sdk/xml.ts'

t.setTimeout(60_000)

const reference = await readFile(new URL('../../plugin-sdk/REFERENCE.md', import.meta.url), 'utf8')

t.test('the reference names every export, with the actual limits', async (t) => {
  const names = [
    ...Object.entries(CAPABILITY_METHODS).flat(2),
    ...LIBRARY_SCOPES,
    ...Object.keys(kit).filter((name) => name !== 'PluginError'),
    ...Object.keys(text),
    ...Object.keys(html).filter((name) => name !== 'HtmlError'),
    ...Object.keys(xml),
    ...Object.keys(testing).filter((name) => /^(test|openPlugin|assert)/.test(name)),
  ]
  for (const name of names) t.ok(reference.includes(`\`${name}`), name)
  const { properties } = Manifest
  const { heapMB, cpuMs, wallMs } = properties.limits.properties
  const most = (schema: object) => Number((schema as { maximum?: number }).maximum)
  for (const [member, least, limit] of [
    ['heapMB', `${DEFAULT_LIMITS.heapMB} MB`, `${most(heapMB)} MB`],
    ['cpuMs', `${DEFAULT_LIMITS.cpuMs} ms`, `${most(cpuMs).toLocaleString('en')} ms`],
    ['wallMs', `${DEFAULT_LIMITS.wallMs / 1000} s`, `${most(wallMs) / 1000} s`],
  ] as const)
    t.ok(reference.includes(`(\`limits.${member}\`) | ${least} | ${limit} |`), member)
  t.ok(reference.includes(`| none | ${most(properties.permissions.properties.storage.properties.quotaKB) / 1024} MB`), 'storage')
})

t.test('the sandbox lacks exactly the globals that the reference lists as missing', async (t) => {
  const [, list = ''] = /There is nothing else: no ([^.]+)\./.exec(reference) ?? []
  const [, web = ''] = /and these web APIs: ([^.]+)\./.exec(reference) ?? []
  const absent = [...[...list.matchAll(/`(\w+)`/g)].map(([, name]) => name), 'SharedArrayBuffer', 'Atomics']
  t.ok(absent.includes('process') && absent.includes('WebAssembly'), 'the list was found')
  const present = [
    ...[...web.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    'encodeURIComponent',
    'Promise',
    'Intl',
    'Map',
    'RegExp',
    'JSON',
    'Date',
    'Uint8Array',
    'BigInt',
  ]
  const supervisor = new Supervisor({ log: silentLog })
  t.teardown(() => supervisor.close())
  const guest = supervisor.open({
    name: 'a test',
    place: 'test',
    sources: [
      {
        name: 'test.js',
        code: `export default { metadata: { series: { search: (names) => names.filter((name) => typeof globalThis[name] !== 'undefined') } } }`,
        module: true,
      },
    ],
    memoryMbMax: 32,
    load: { cpuMs: 500, wallMs: 60_000 },
    resultLengthMax: 10_000,
    concurrency: 1,
    queueMax: 1,
    restMs: 0,
    plugin: { methods: ['metadata.series.search'], hostCalls: 1, inFlight: 1, logLines: 1, logLength: 100 },
  })
  const { text: found } = await guest.call(
    'metadata.series.search',
    JSON.stringify([...absent, ...present]),
    { cpuMs: 500, wallMs: 5_000 },
    { more: JSON.stringify({ callId: '1', plugin: {}, config: {}, userConfig: {} }) },
  )
  t.same(JSON.parse(found), present)
})
