import type { KeyObject } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { EgressNetwork } from '#plugins/network/egress.ts'
import { packPlugin } from '#plugins/packages/plugin-package.ts'

/** The manifest of a plugin for series metadata, with these members replaced. */
export const manifestOf = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  manifestVersion: 1,
  id: 'org.example.echo',
  name: 'Echo',
  version: '1.0.0',
  summary: 'Returns its input',
  engine: { pluginApi: '^1.0' },
  capabilities: { 'metadata.series': { methods: ['search', 'get'] } },
  permissions: {
    network: [{ host: 'api.example.org', methods: ['GET', 'POST'], reason: 'The service' }],
    storage: { quotaKB: 16 },
  },
  ...change,
})

/** A package with one bundle. */
export function pluginOf(main: string, manifest: Record<string, unknown> = {}, keys: readonly KeyObject[] = []): Buffer {
  return packPlugin(
    new Map([
      ['manifest.json', Buffer.from(JSON.stringify(manifestOf(manifest)))],
      ['main.js', Buffer.from(main)],
    ]),
    keys,
  )
}

interface Asked {
  method: string
  url: string
  headers: http.IncomingHttpHeaders
  host: string
}

/** A network of plugins that leads to a server of a test. */
export interface Loopback extends EgressNetwork {
  asked: Asked[]
  /** The number of open connections. */
  open(): number
}

/**
 * A network of plugins in which a server of this test is every host, without encryption.
 * @param addresses of hosts that should have other addresses
 */
export async function openLoopback(t: Test, answer: http.RequestListener, addresses: Record<string, string[]> = {}): Promise<Loopback> {
  const asked: Asked[] = []
  let open = 0
  const server = http.createServer((request, response) => {
    asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, host: request.headers.host ?? '' })
    answer(request, response)
  })
  server.on('connection', (socket) => {
    open += 1
    socket.once('close', () => {
      open -= 1
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    asked,
    open: () => open,
    resolve: async (host) => addresses[host] ?? ['127.0.0.1'],
    permits: (address) => address === '127.0.0.1',
    request: http.request as unknown as EgressNetwork['request'],
    port: (server.address() as AddressInfo).port,
  }
}

/** Holds every request to a host until `release` is called, before anything is sent. `waits` resolves when there is one. */
export function holdHost(way: Loopback, held: string): { waits: Promise<void>; release: () => void } {
  const waits = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const { resolve } = way
  way.resolve = async (host, signal) => {
    if (host !== held) return await resolve(host, signal)
    waits.resolve()
    await released.promise
    return await resolve(host, signal)
  }
  return { waits: waits.promise, release: released.resolve }
}

/** Version `number` of a plugin that returns its version and its stored data; each version stores its data in another form. */
export const updateOf = (number: number): Buffer =>
  pluginOf(
    `export default {
      async migrate(ctx, from) { await ctx.storage.set('form', ${number}); await ctx.storage.set('from', from) },
      metadata: { series: {
        async search(query, ctx) {
          return { results: [{ externalId: '1', title: JSON.stringify([ctx.plugin.version, await ctx.storage.get('form')]) }] }
        },
        get: () => ({ externalId: '1' }) } } }`,
    { version: `1.0.${number}`, dataVersion: number },
  )
