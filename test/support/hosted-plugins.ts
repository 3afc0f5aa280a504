import type { RequestListener } from 'node:http'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openHostOn } from '#test/support/plugin-hosts.ts'
import type { Loopback } from '#test/support/plugins.ts'
import { bodyOf, type Fixtures, openReplay, readFixtures } from '../../plugin-sdk/fixtures.ts'

interface HostedPlugin {
  id: string
  call(method: string, input: unknown, userId?: string | null): Promise<Record<string, unknown>>
}

export interface HostedPlugins {
  database: Knex
  host: PluginHostServices
  way: Loopback
  /** Installs a package and grants its permissions. */
  install(bytes: Buffer): Promise<HostedPlugin>
  /** A plugin that another host has installed in the same database. */
  use(id: string): HostedPlugin
  /** Requests that match no fixture. */
  unmatched: string[]
}

/** A plugin host with a database (its own unless one is given), real sandboxes, and services that are replayed from fixtures. */
export async function openHostedPlugins(
  t: Test,
  fixtures: Fixtures = { formatVersion: 1, exchanges: [] },
  given?: Knex,
): Promise<HostedPlugins> {
  const replay = openReplay(readFixtures(fixtures))
  const unmatched: string[] = []
  const answer: RequestListener = (request, response) => {
    // The port is that of the loopback server, which real requests do not have.
    const host = (request.headers.host ?? '').replace(/:\d+$/, '')
    const asked = { method: request.method ?? 'GET', url: `https://${host}${request.url}` }
    const found = replay.next(asked)
    if (found === null) {
      unmatched.push(`${asked.method} ${asked.url}`)
      response.writeHead(404).end()
    } else if (found.response === undefined) response.destroy()
    else {
      const { status = 200, headers = {} } = found.response
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(bodyOf(found.response))
    }
  }
  const database = given ?? (await openTestDatabase(t)).database
  const { host, way } = await openHostOn(t, database, answer)
  const use = (id: string): HostedPlugin => ({
    id,
    call: async (method, input, userId = null) =>
      (await host.pluginCalls.call({ pluginId: id, method, input, userId })).result as Record<string, unknown>,
  })
  return {
    database,
    host,
    way,
    unmatched,
    use,
    async install(bytes) {
      const { plugin, sha256 } = await host.pluginLifecycle.install(bytes, { userId: null })
      await host.pluginLifecycle.consent(plugin.id, { sha256 })
      return use(plugin.id)
    },
  }
}
