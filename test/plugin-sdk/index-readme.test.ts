import { readFile } from 'node:fs/promises'
import t from 'tap'
import { silentLog } from '#core/log.ts'
import { CAPABILITY_METHODS, LIBRARY_SCOPES, Manifest } from '#plugins/manifest.ts'
import { DEFAULT_LIMITS } from '#plugins/permissions.ts'
import { openSupervisor } from '#plugins/supervisor.ts'
import * as kit from '../../plugin-sdk/index.ts'
import * as text from '../../plugin-sdk/text.ts'

t.setTimeout(60_000)

const readme = await readFile(new URL('../../plugin-sdk/README.md', import.meta.url), 'utf8')

t.test('the README names all there is, with the limits that hold', async (t) => {
  const names = [
    ...Object.entries(CAPABILITY_METHODS).flat(2),
    ...LIBRARY_SCOPES,
    ...Object.keys(kit).filter((name) => name !== 'PluginError'),
    ...Object.keys(text),
  ]
  for (const name of names) t.ok(readme.includes(`\`${name}`), name)
  const { properties } = Manifest
  const { heapMB, cpuMs, wallMs } = properties.limits.properties
  const most = (schema: object) => Number((schema as { maximum?: number }).maximum)
  for (const [member, least, limit] of [
    ['heapMB', `${DEFAULT_LIMITS.heapMB} MB`, `${most(heapMB)} MB`],
    ['cpuMs', `${DEFAULT_LIMITS.cpuMs} ms`, `${most(cpuMs).toLocaleString('en')} ms`],
    ['wallMs', `${DEFAULT_LIMITS.wallMs / 1000} s`, `${most(wallMs) / 1000} s`],
  ] as const)
    t.ok(readme.includes(`(\`limits.${member}\`) | ${least} | ${limit} |`), member)
  t.ok(readme.includes(`| none | ${most(properties.permissions.properties.storage.properties.quotaKB) / 1024} MB`), 'storage')
})

t.test('what the README says is not in the sandbox is not there, and the rest is', async (t) => {
  const [, list = ''] = /nothing else: no ([^.]+)\./.exec(readme) ?? []
  const absent = [...[...list.matchAll(/`(\w+)`/g)].map(([, name]) => name), 'SharedArrayBuffer', 'Atomics']
  t.ok(absent.includes('process') && absent.includes('WebAssembly'), 'the list was found')
  const present = ['encodeURIComponent', 'Promise', 'Intl', 'Map', 'RegExp', 'JSON', 'Date', 'Uint8Array', 'BigInt']
  const supervisor = openSupervisor({ log: silentLog })
  t.teardown(() => supervisor.close())
  const guest = supervisor.open({
    name: 'a test',
    place: 'test',
    sources: [{ name: 'test.js', code: `register({ found: (names) => names.filter((name) => typeof globalThis[name] !== 'undefined') })` }],
    memoryMbMax: 32,
    load: { cpuMs: 500, wallMs: 5_000 },
    resultLengthMax: 10_000,
    concurrency: 1,
    queueMax: 1,
    restMs: 0,
  })
  const { text: found } = await guest.call('found', JSON.stringify([...absent, ...present]), { cpuMs: 500, wallMs: 5_000 })
  t.same(JSON.parse(found), present)
})
