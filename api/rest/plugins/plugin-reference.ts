import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { NamedInRequest, Route } from '#api/http/endpoint.ts'
import { isUuid } from '#core/foundation/schema.ts'
import { getPluginId } from '#plugins/host/plugin-store.ts'

/** A plugin in a request. */
export const PluginReference = Type.String({
  pattern: '^[A-Za-z0-9.-]+$',
  maxLength: 64,
  description: 'The id of the plugin itself, such as `org.example.my-plugin`, or its UUID on this server.',
})
export const PluginId = Type.Object({ pluginId: PluginReference })

/** Routes whose path, query or body names a plugin: they see only UUIDs. */
export const takingPluginIds = <R extends Route<never>>(routes: readonly R[]): R[] => routes.map((route) => ({ ...route, resolve }))

async function resolve({ database }: Pick<DataServices, 'database'>, { params, query, body }: NamedInRequest): Promise<void> {
  for (const part of [params, query, body] as ({ pluginId?: unknown } | undefined)[]) {
    const given = part?.pluginId
    if (part !== undefined && typeof given === 'string' && !isUuid(given)) part.pluginId = await getPluginId(database, given)
  }
}
