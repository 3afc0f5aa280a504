import type { KeyObject } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { Installation } from '#plugins/host/plugin-lifecycle.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { Repositories } from '#plugins/repositories/repositories.ts'
import type { RevokedVersion } from '#plugins/repositories/revocations.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { openHostOn } from '#test/support/plugin-hosts.ts'
import {
  entryOf,
  type Files,
  filesOf,
  indexOf,
  newKey,
  openRepositoryServer,
  REPOSITORY_URL,
  type UnsignedIndex,
} from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'

/** The key of the publisher. */
export const key = newKey()
export const publicKey = publicKeyText(key)
export const INDEX = '/carrel/index.json'
export const SIGNATURE = '/carrel/index.json.sig'
/** A plugin that returns one word as its result. */
export const saying = (word: string): string =>
  `export default { metadata: { series: { search: () => ({ results: [{ externalId: '1', title: '${word}' }] }), get: () => ({ externalId: '1' }) } } }`
/** Two versions of the plugin, and an index of both. */
export const one = pluginOf(saying('one'))
/** Larger, so that a client that reads as many bytes as the index lists has all of `one`. */
export const two = pluginOf(`${saying('two')}\n// The second version is larger.\n`, { version: '1.1.0' })
export const both = indexOf({ plugins: [entryOf([two, one])] })

/** A matcher for errors with the code conflict. */
export const conflict = (message: RegExp) => ({ code: 'conflict', message })
/** The error of a refused operation. */
export const refusal = (work: Promise<unknown>): Promise<AppError> =>
  work.then(
    () => Promise.reject(new Error('It was not refused.')),
    (error: unknown) => (error instanceof AppError ? error : Promise.reject(error)),
  )

export interface Opened {
  database: Knex
  repositories: Repositories<Installation>
  files: Files
  asked: { url: string; host: string }[]
  revoked: RevokedVersion[][]
  /** Publishes another index. */
  publish(index: UnsignedIndex, by?: KeyObject): void
}

/** Repositories with their own database, whose files come from a server of this test: one publisher with two versions by default. */
export async function openTestRepositories(
  t: Test,
  options: { files?: Files; deadlinesMs?: { index: number; package: number }; timing?: { firstMs: number; everyMs: number } } = {},
): Promise<Opened> {
  const { database } = await openTestDatabase(t)
  const { host } = await openHostOn(t, database)
  const server = await openRepositoryServer(t, options.files ?? filesOf(both, key, { '1.0.0': one, '1.1.0': two }), options.deadlinesMs)
  const revoked: RevokedVersion[][] = []
  const repositories = new Repositories({
    ...{
      database,
      log: silentLog,
      download: server.download,
      serverVersion: '1.2.3',
      install: (bytes, options) => host.pluginLifecycle.install(bytes, options),
    },
    onRevoked: (versions) => void revoked.push(versions),
    ...(options.timing && { timing: options.timing }),
  })
  t.teardown(() => repositories.close())
  return {
    ...{ database, repositories, files: server.files, asked: server.way.asked, revoked },
    publish: (index, by = key) => void Object.assign(server.files, filesOf(index, by)),
  }
}

export const add = (repositories: Repositories<unknown>) => repositories.add({ url: REPOSITORY_URL, publicKey })

export const redirect = (response: ServerResponse, location: string) => void response.writeHead(302, { location }).end()
/** Sends megabytes for as long as the client reads. */
export function endless(response: ServerResponse, megabytes: number): void {
  const block = Buffer.alloc(1024 * 1024, 32)
  let left = megabytes
  const more = () => {
    while (left-- > 0) if (!response.write(block)) return
    response.end()
  }
  response.on('drain', more)
  response.on('error', () => {})
  more()
}
