import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { streamOf } from '#api/http/endpoint.ts'
import { PluginReference, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import { TOKEN_LENGTH_MAX } from '#plugins/host/picture-token.ts'

const stream = streamOf<Pick<DataServices, 'database'> & Pick<PluginServices, 'pluginPictures'>>()

/** The picture of an address does not change; the address is valid for a day. */
const CACHE_CONTROL = 'private, max-age=86400'

export const pluginPictureRoutes = takingPluginIds([
  stream({
    name: 'getPluginPicture',
    path: '/api/v1/plugins/:pluginId/pictures/:token',
    summary: 'Get a picture that a plugin named in an answer to me within the last day, at most 480 pixels wide and high',
    tag: 'plugins',
    // The token is only for the user who received it.
    allow: { who: 'series-read', cookie: true },
    rate: 'pictures',
    params: Type.Object({
      pluginId: PluginReference,
      token: Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: TOKEN_LENGTH_MAX, description: 'From the address in an answer.' }),
    }),
    mediaTypes: ['image/webp'],
    run: async ({ services, caller, signal }, { params: { pluginId, token } }) => {
      const { webp, etag } = await services.pluginPictures.get({ pluginId: pluginId.toLowerCase(), userId: caller.userId }, token, signal)
      return { kind: 'bytes', bytes: webp, mediaType: 'image/webp', etag, cacheControl: CACHE_CONTROL }
    },
  }),
])
