import Type from 'typebox'
import type { PluginServices } from '#api/areas/plugins.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { newReviewView, PluginReview } from '#api/views/plugin-review-view.ts'
import { GrantedView } from '#api/views/plugin-view.ts'
import { Nullable, Uuid } from '#core/foundation/schema.ts'
import { bundledPlugins, getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'

type Services = Pick<PluginServices, 'plugins' | 'pluginLifecycle'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
const allow = { who: 'system-admin' } as const

export const bundledPluginRoutes = [
  endpoint({
    name: 'listBundledPlugins',
    method: 'GET',
    path: '/api/v1/admin/bundled-plugins',
    summary: 'List the plugins bundled with the server; each runs after it is installed and an administrator has consented',
    tag,
    allow,
    reply: Type.Object({
      plugins: Type.Array(
        Type.Object({
          id: Type.String({ description: 'Short name for installation, such as open-library.' }),
          name: Type.String({ description: 'Identifier of the plugin.' }),
          displayName: Type.String(),
          description: Type.String(),
          version: Type.String(),
          sha256: Type.String({ description: 'SHA-256 of the package, which consent refers to.' }),
          asksFor: GrantedView,
          pluginId: Nullable(Uuid, { description: 'Id of the plugin if it is installed.' }),
        }),
      ),
    }),
    run: async ({ services }) => {
      const installed = await services.plugins.list()
      const plugins = (await bundledPlugins()).map(({ id, key, name, version, summary, bytes }) => {
        const { manifest, sha256 } = readPackage(bytes)
        const pluginId = installed.find((plugin) => plugin.key === key)?.id ?? null
        return {
          id,
          name: key,
          displayName: name,
          description: summary,
          version,
          sha256,
          asksFor: requestedPermissions(manifest),
          pluginId,
        }
      })
      return { plugins }
    },
  }),
  endpoint({
    name: 'installBundledPlugin',
    method: 'POST',
    path: '/api/v1/admin/bundled-plugins/:name/install',
    summary: 'Install or update a plugin bundled with the server; it runs after an administrator has consented',
    tag,
    allow,
    status: 201,
    params: Type.Object({ name: Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{0,63}$', maxLength: 64 }) }),
    reply: Type.Object({
      pluginId: Uuid,
      name: Type.String(),
      version: Type.String(),
      sha256: Type.String({ description: 'SHA-256 of the package, which consent refers to.' }),
      waitsFor: Type.Array(Type.String()),
      review: PluginReview,
    }),
    run: async (call, { params }) => {
      const { bytes } = await getBundledPlugin(params.name)
      const installed = await call.services.pluginLifecycle.install(bytes, { userId: call.caller.userId })
      const { plugin, version, sha256, waitsFor } = installed
      call.created(`/api/v1/admin/plugins/${plugin.id}`)
      return { pluginId: plugin.id, name: plugin.key, version, sha256, waitsFor, review: newReviewView(installed) }
    },
  }),
]
