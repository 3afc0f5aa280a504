import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { deleteStorage, findStorageStats, listStorageStats, type StorageStats } from '#plugins/host/plugin-storage-query.ts'

type Services = Pick<DataServices, 'database' | 'log'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
const allow = { who: 'system-admin' } as const
const Name = Type.Object({ name: Type.String({ maxLength: 64, description: 'Identifier of the plugin, such as org.example.anilist.' }) })

/** Plugin data is stored in rows, so that no name from a plugin ever becomes a file name. */
const ROWS = 'Rows in the database; plugins have no files.'
const Count = Type.Integer({ minimum: 0 })
const Bytes = Type.Integer({ minimum: 0, description: 'Size of keys and values.' })
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
        userId: Nullable(Uuid, { description: 'User whose data it is; null for data of the plugin itself.' }),
        username: Nullable(Type.String()),
        fileCount: Count,
        totalBytes: Bytes,
      }),
      { description: 'Storage by user, largest first; at most 500.' },
    ),
  },
  { title: 'PluginStorageDetail' },
)

const storageView = ({ pluginKey, rows, bytes }: StorageStats) => ({ pluginName: pluginKey, fileCount: rows, totalBytes: bytes })
const unknown = (name: string): never => refuse('not_found', `There is no plugin called ${name}.`)

export const pluginStorageRoutes = [
  endpoint({
    name: 'listPluginStorage',
    method: 'GET',
    path: '/api/v1/admin/plugin-storage',
    summary: 'Get the storage of all plugins, in rows and bytes',
    tag,
    allow,
    reply: Type.Object({ plugins: Type.Array(Stats), totalBytes: Bytes, totalFileCount: Type.Integer({ minimum: 0, description: ROWS }) }),
    run: async ({ services }) => {
      const plugins = (await listStorageStats(services.database)).map(storageView)
      return {
        plugins,
        totalBytes: plugins.reduce((sum, { totalBytes }) => sum + totalBytes, 0),
        totalFileCount: plugins.reduce((sum, { fileCount }) => sum + fileCount, 0),
      }
    },
  }),
  endpoint({
    name: 'getPluginStorage',
    method: 'GET',
    path: '/api/v1/admin/plugin-storage/:name',
    summary: 'Get the storage of a plugin by user',
    tag,
    allow,
    params: Name,
    reply: Detail,
    run: async ({ services }, { params }) => {
      const found = (await findStorageStats(services.database, params.name)) ?? unknown(params.name)
      const owners = found.owners.map(({ userId, username, rows, bytes }) => ({ userId, username, fileCount: rows, totalBytes: bytes }))
      return { ...storageView(found), owners }
    },
  }),
  endpoint({
    name: 'deletePluginStorage',
    method: 'DELETE',
    path: '/api/v1/admin/plugin-storage/:name',
    summary: 'Delete the storage of a plugin, all or for one user',
    tag,
    allow,
    params: Name,
    query: Type.Object({ userId: Type.Optional(Uuid) }),
    reply: Type.Object({
      filesDeleted: Type.Integer({ minimum: 0, description: ROWS }),
      bytesFreed: Bytes,
      failures: Type.Integer({ minimum: 0, description: 'Always 0: everything is deleted in one transaction.' }),
      errors: Type.Array(Type.String()),
    }),
    run: async ({ services, caller }, { params, query }) => {
      const owner = { pluginKey: params.name, userId: query.userId ?? null }
      const { rows, bytes } = (await deleteStorage(services.database, owner)) ?? unknown(params.name)
      services.log.info({ plugin: params.name, userId: query.userId, rows, by: caller.userId }, 'Deleted the storage of a plugin')
      return { filesDeleted: rows, bytesFreed: bytes, failures: 0, errors: [] }
    },
  }),
]
