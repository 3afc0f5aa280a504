import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { AVAILABLE_MAX, type AvailablePlugin as Offered } from '#plugins/repositories/available.ts'
import { fingerprintOf, type IndexVersion, PermissionSummary } from '#plugins/repositories/index-file.ts'
import type { Repository } from '#plugins/repositories/repositories.ts'

type Services = Needs<'repositories'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
const allow = { who: 'system-admin' } as const
const RepositoryId = Type.Object({ repositoryId: Uuid })
const Count = Type.Integer({ minimum: 0 })
/** With every version of a page of plugins comes what changed in it, of up to 4,000 characters. */
const VERSIONS_MAX = 20

const url = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'Of its folder, or of the index in it: https, by the name of its host.',
})
const publicKey = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$', maxLength: 44, description: 'Ed25519, base64: whoever signs the index.' })
const fingerprint = Type.String({
  description: 'Of the key: SHA-256 in groups of four, to compare with what the publisher says elsewhere.',
})

const PluginRepository = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    name: Type.String(),
    publicKey,
    fingerprint,
    enabled: Type.Boolean(),
    sequence: Type.Integer({ minimum: 0, description: 'Of the newest index that was seen; an older one is not believed again.' }),
    plugins: Type.Integer({ minimum: 0, description: 'How many its index lists.' }),
    expiresAt: Nullable(Timestamp),
    fetchedAt: Nullable(Timestamp),
    error: Nullable(
      Type.String({ description: 'Why the last attempt to have a newer index failed; the one before holds until it expires.' }),
    ),
    createdAt: Timestamp,
  },
  { title: 'PluginRepository', description: 'A folder on the web with packages and a signed index.' },
)

const shown = ({ publicKey, expiresAt, fetchedAt, createdAt, ...rest }: Repository) => ({
  ...rest,
  publicKey,
  fingerprint: fingerprintOf(publicKey),
  expiresAt: expiresAt?.toISOString() ?? null,
  fetchedAt: fetchedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
})

const AvailableVersion = Noun('OfferedPluginVersion')({
  version: Type.String(),
  installable: Type.Boolean(),
  hindrance: Nullable(Type.Object({ code: OneOf(['plugin_api', 'server', 'yanked', 'revoked']), message: Type.String() }), {
    description: 'Why it cannot be installed.',
  }),
  pluginApi: Type.String(),
  server: Nullable(Type.String({ description: 'Servers that it runs on, where it says so.' })),
  size: Count,
  sha256: Type.String(),
  permissions: PermissionSummary,
  releasedAt: Type.String(),
  changelog: Nullable(Type.String()),
  advisory: Nullable(Type.String()),
})

const AvailablePlugin = Type.Object(
  {
    repository: Type.Object({ id: Uuid, name: Type.String() }),
    id: Type.String({ description: 'Its own identifier, such as org.example.anilist.' }),
    name: Type.String(),
    summary: Type.String(),
    author: Nullable(Type.String()),
    categories: Type.Array(Type.String()),
    capabilities: Type.Array(Type.String()),
    version: Nullable(Type.String({ description: 'The one that would be installed.' })),
    installedVersion: Nullable(Type.String()),
    versions: Type.Array(AvailableVersion, {
      description: `Those that can be installed first, the newest before the others; ${VERSIONS_MAX} at most.`,
    }),
  },
  { title: 'OfferedPlugin' },
)

const shownPlugin = ({
  repository,
  id,
  name,
  summary,
  author,
  categories = [],
  capabilities,
  version,
  installedVersion,
  versions,
}: Offered) => ({
  ...{ repository, id, name, summary, author: author?.name ?? null, categories, capabilities, version, installedVersion },
  versions: versions
    .slice(0, VERSIONS_MAX)
    .map(({ hindrance, ...one }) => ({ ...shownVersion(one), installable: hindrance === null, hindrance })),
})

const shownVersion = ({ version, pluginApi, server, size, sha256, permissions, releasedAt, changelog, advisory }: IndexVersion) => ({
  ...{ version, pluginApi, server: server ?? null, size, sha256, permissions, releasedAt },
  ...{ changelog: changelog ?? null, advisory: advisory ?? null },
})

export const pluginRepositoryRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugin-repositories',
    summary: 'All repositories of plugins',
    tag,
    allow,
    reply: Type.Object({ repositories: Type.Array(PluginRepository), total: Count }),
    run: async ({ services }) => {
      const repositories = (await services.repositories.list()).map(shown)
      return { repositories, total: repositories.length }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugin-repositories',
    summary: 'Look at a repository of plugins, or add it: with its key it is added, without it only shown',
    tag,
    allow,
    body: Type.Object({
      url,
      publicKey: Type.Optional({
        ...publicKey,
        description: 'The one that was shown and compared; every index must be signed by it from then on.',
      }),
    }),
    reply: Type.Object({
      repository: Nullable(PluginRepository, { description: 'Null where it was only looked at.' }),
      url: Type.String(),
      name: Type.String(),
      publicKey,
      fingerprint,
      plugins: Count,
      message: Type.String(),
    }),
    run: async ({ services }, { body }) => {
      if (body.publicKey === undefined) {
        const offer = await services.repositories.look(body.url)
        const message = `Compare the fingerprint with what the publisher of ${offer.name} says elsewhere. If it is the same, send the publicKey too.`
        return { repository: null, ...offer, message }
      }
      const repository = shown(await services.repositories.add({ url: body.url, publicKey: body.publicKey }))
      const { name, plugins } = repository
      const of = { url: repository.url, name, publicKey: repository.publicKey, fingerprint: repository.fingerprint, plugins }
      return { repository, ...of, message: `${name} is added; its key is pinned.` }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/admin/plugin-repositories/available',
    summary: 'The plugins that enabled repositories offer, and why some versions cannot be installed',
    tag,
    allow,
    query: Type.Object({
      search: Type.Optional(Type.String({ maxLength: 200, description: 'A word of the name, summary or identifier.' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AVAILABLE_MAX })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    reply: Type.Object({ plugins: Type.Array(AvailablePlugin), total: Count }),
    run: async ({ services }, { query }) => {
      const { plugins, total } = await services.repositories.listAvailable({ limit: 50, ...query })
      return { plugins: plugins.map(shownPlugin), total }
    },
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/admin/plugin-repositories/:repositoryId',
    summary: 'Enable or disable a repository; what it has revoked stays so',
    tag,
    allow,
    params: RepositoryId,
    body: Type.Object({ enabled: Type.Boolean() }),
    reply: PluginRepository,
    run: async ({ services }, { params, body }) => shown(await services.repositories.setEnabled(params.repositoryId, body.enabled)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/api/v1/admin/plugin-repositories/:repositoryId',
    summary: 'Take a repository away; what was installed from it stays, and so does what it has revoked',
    tag,
    allow,
    status: 204,
    params: RepositoryId,
    run: async ({ services }, { params }) => {
      await services.repositories.remove(params.repositoryId)
      return undefined
    },
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugin-repositories/:repositoryId/refresh',
    summary: 'Fetch the index of a repository; where that fails the last one stays, and error says why',
    tag,
    allow,
    params: RepositoryId,
    reply: PluginRepository,
    run: async ({ services }, { params }) => shown(await services.repositories.refresh(params.repositoryId)),
  }),
  endpoint({
    method: 'POST',
    path: '/api/v1/admin/plugin-repositories/:repositoryId/install',
    summary: 'Install a plugin of a repository, or a new version of one; it runs when somebody has agreed to what it asks for',
    tag,
    allow,
    status: 201,
    params: RepositoryId,
    body: Type.Object({
      pluginId: Type.String({ minLength: 1, maxLength: 64, description: 'Its own identifier, such as org.example.anilist.' }),
      version: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'The newest that can be installed, unless given.' })),
      trustNewKey: Type.Optional(Type.Boolean({ description: 'Takes an update that is signed by somebody else than the version before.' })),
    }),
    reply: Type.Object({
      pluginId: Uuid,
      name: Type.String({ description: 'Its own identifier.' }),
      version: Type.String({ description: 'The one that was installed.' }),
      sha256: Type.String({ description: 'Of its package: what consent is given to.' }),
      waitsFor: Type.Array(Type.String(), {
        description: 'What somebody has to agree to before this version runs; empty when it runs already.',
      }),
      message: Type.String(),
    }),
    run: async (call, { params, body }) => {
      const wanted = { repositoryId: params.repositoryId, ...body, userId: call.caller.userId }
      const { plugin, version, sha256, waitsFor } = await call.services.repositories.install(wanted)
      call.created(`/api/v1/admin/plugins/${plugin.id}`)
      const message =
        waitsFor.length === 0 ? `${plugin.key} ${version} runs.` : `${plugin.key} ${version} waits for consent: it ${waitsFor.join(', ')}.`
      return { pluginId: plugin.id, name: plugin.key, version, sha256, waitsFor, message }
    },
  }),
]
