import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { deleteStorage, findStorageStats, listStorageStats, type StorageStats } from '#plugins/host/plugin-storage-query.ts'

type Services = Needs<'database' | 'log'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
const allow = { who: 'system-admin' } as const
const Name = Type.Object({ name: Type.String({ maxLength: 64, description: "The plugin's own identifier, such as org.example.anilist." }) })

/** What others keep in files lies in rows of the database here: no name that a plugin gives ever names a file. */
const ROWS = 'Rows of the database; plugins have no files.'
const Count = Type.Integer({ minimum: 0 })
const Bytes = Type.Integer({ minimum: 0, description: 'Of keys and values.' })
const stats = {
  pluginName: Type.String(),
  fileCount: Type.Integer({ minimum: 0, description: ROWS }),
  totalBytes: Bytes,
}
const Stats = Type.Object(stats, { title: 'PluginStorageStats' })
const Detail = Type.Object(
  {
    ...stats,
    owners: Type.Array(
      Type.Object({
        userId: Nullable(Uuid, { description: 'Reader it is kept for; null for what the plugin keeps for itself.' }),
        username: Nullable(Type.String()),
        fileCount: Count,
        totalBytes: Bytes,
      }),
      { description: 'For whom it is kept, the most first; 500 at most.' },
    ),
  },
  { title: 'PluginStorageDetail' },
)

const shown = ({ pluginKey, rows, bytes }: StorageStats) => ({ pluginName: pluginKey, fileCount: rows, totalBytes: bytes })
const unknown = (name: string): never => refuse('not_found', `There is no plugin called ${name}.`)

export const pluginStorageRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugin-storage',
    summary: 'What plugins keep, in rows and bytes',
    tag,
    allow,
    reply: Type.Object({ plugins: Type.Array(Stats), totalBytes: Bytes, totalFileCount: Type.Integer({ minimum: 0, description: ROWS }) }),
    run: async ({ services }) => {
      const plugins = (await listStorageStats(services.database)).map(shown)
      return {
        plugins,
        totalBytes: plugins.reduce((sum, { totalBytes }) => sum + totalBytes, 0),
        totalFileCount: plugins.reduce((sum, { fileCount }) => sum + fileCount, 0),
      }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugin-storage/:name',
    summary: 'What one plugin keeps, and for whom',
    tag,
    allow,
    params: Name,
    reply: Detail,
    run: async ({ services }, { params }) => {
      const found = (await findStorageStats(services.database, params.name)) ?? unknown(params.name)
      const owners = found.owners.map(({ userId, username, rows, bytes }) => ({ userId, username, fileCount: rows, totalBytes: bytes }))
      return { ...shown(found), owners }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/admin/plugin-storage/:name',
    summary: 'Delete what a plugin keeps, or what it keeps for one reader',
    tag,
    allow,
    params: Name,
    query: Type.Object({ userId: Type.Optional(Uuid) }),
    reply: Type.Object({
      filesDeleted: Type.Integer({ minimum: 0, description: ROWS }),
      bytesFreed: Bytes,
      failures: Type.Integer({ minimum: 0, description: 'Always 0: all of it goes at once or nothing does.' }),
      errors: Type.Array(Type.String()),
    }),
    run: async ({ services, caller }, { params, query }) => {
      const owner = { pluginKey: params.name, userId: query.userId ?? null }
      const { rows, bytes } = (await deleteStorage(services.database, owner)) ?? unknown(params.name)
      services.log.info({ plugin: params.name, userId: query.userId, rows, by: caller.userId }, 'What a plugin kept was deleted')
      return { filesDeleted: rows, bytesFreed: bytes, failures: 0, errors: [] }
    },
  }),
]
