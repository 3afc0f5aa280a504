import Type from 'typebox'
import type { PluginServices } from '#api/areas/plugins.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { installationMessage, newReviewView, PluginReview } from '#api/views/plugin-review-view.ts'
import { CONFIRMED_ORIGIN, Fingerprint, PluginSignatureView } from '#api/views/plugin-signature-view.ts'
import { Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { AVAILABLE_MAX, type AvailablePlugin as Offered } from '#plugins/repositories/available.ts'
import { type IndexVersion, PermissionSummary } from '#plugins/repositories/index-file.ts'
import type { Repository } from '#plugins/repositories/repositories.ts'

type Services = Pick<PluginServices, 'repositories'>
const endpoint = endpointOf<Services>()

const tag = 'plugins'
const allow = { who: 'system-admin' } as const
const RepositoryId = Type.Object({ repositoryId: Uuid })
const Count = Type.Integer({ minimum: 0 })
/** Every version of every plugin on a page includes a changelog of up to 4,000 characters. */
const VERSIONS_MAX = 20

const url = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'Address of the folder or of its index: https, with a host name.',
})
const publicKey = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$', maxLength: 44, description: 'Ed25519 key that signs the index, base64.' })
const fingerprint = { ...Fingerprint, description: 'Of the key, to compare with the one that the publisher states elsewhere.' }

const PluginRepository = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    name: Type.String(),
    publicKey,
    fingerprint,
    enabled: Type.Boolean(),
    sequence: Type.Integer({ minimum: 0, description: 'Sequence number of the newest index; older ones are refused.' }),
    plugins: Type.Integer({ minimum: 0, description: 'Number of plugins in its index.' }),
    expiresAt: Nullable(Timestamp),
    fetchedAt: Nullable(Timestamp),
    error: Nullable(
      Type.String({ description: 'Why the last fetch of the index failed; the previous index stays valid until it expires.' }),
    ),
    createdAt: Timestamp,
  },
  { title: 'PluginRepository', description: 'A folder on the web with packages and a signed index.' },
)

const repositoryView = ({ publicKey, expiresAt, fetchedAt, createdAt, ...rest }: Repository) => ({
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
    description: 'Why this version cannot be installed.',
  }),
  pluginApi: Type.String(),
  server: Nullable(Type.String({ description: 'Range of server versions that it supports, if stated.' })),
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
    id: Type.String({ description: 'Identifier of the plugin, such as org.example.anilist.' }),
    name: Type.String(),
    summary: Type.String(),
    author: Nullable(Type.String()),
    categories: Type.Array(Type.String()),
    capabilities: Type.Array(Type.String()),
    version: Nullable(Type.String({ description: 'The version that would be installed.' })),
    installedVersion: Nullable(Type.String()),
    versions: Type.Array(AvailableVersion, {
      description: `Installable versions first, newest first; at most ${VERSIONS_MAX}.`,
    }),
  },
  { title: 'OfferedPlugin' },
)

const offeredPluginView = ({
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
  repository,
  id,
  name,
  summary,
  author: author?.name ?? null,
  categories,
  capabilities,
  version,
  installedVersion,
  versions: versions
    .slice(0, VERSIONS_MAX)
    .map(({ hindrance, ...one }) => ({ ...versionView(one), installable: hindrance === null, hindrance })),
})

const versionView = ({ version, pluginApi, server, size, sha256, permissions, releasedAt, changelog, advisory }: IndexVersion) => ({
  version,
  pluginApi,
  server: server ?? null,
  size,
  sha256,
  permissions,
  releasedAt,
  changelog: changelog ?? null,
  advisory: advisory ?? null,
})

export const pluginRepositoryRoutes = [
  endpoint({
    name: 'listPluginRepositories',
    method: 'GET',
    path: '/api/v1/admin/plugin-repositories',
    summary: 'List the plugin repositories',
    tag,
    allow,
    reply: Type.Object({ repositories: Type.Array(PluginRepository), total: Count }),
    run: async ({ services }) => {
      const repositories = (await services.repositories.list()).map(repositoryView)
      return { repositories, total: repositories.length }
    },
  }),
  endpoint({
    name: 'createPluginRepository',
    method: 'POST',
    path: '/api/v1/admin/plugin-repositories',
    summary: 'Inspect a plugin repository or, with its public key, add it',
    tag,
    allow,
    body: Type.Object({
      url,
      publicKey: Type.Optional({
        ...publicKey,
        description: 'The key that you have compared; it must sign every index from then on.',
      }),
    }),
    reply: Type.Object({
      repository: Nullable(PluginRepository, { description: 'Null if the repository was only inspected.' }),
      url: Type.String(),
      name: Type.String(),
      publicKey,
      fingerprint,
      plugins: Count,
      message: Type.String(),
    }),
    run: async ({ services }, { body }) => {
      if (body.publicKey === undefined) {
        const offer = await services.repositories.preview(body.url)
        const message = `Compare the fingerprint with the one that the publisher of ${quotedText(offer.name)} states elsewhere. If they are equal, send the publicKey too.`
        return { repository: null, ...offer, message }
      }
      const repository = repositoryView(await services.repositories.add({ url: body.url, publicKey: body.publicKey }))
      const { name, plugins } = repository
      const of = { url: repository.url, name, publicKey: repository.publicKey, fingerprint: repository.fingerprint, plugins }
      return { repository, ...of, message: `Added ${quotedText(name)} and pinned its key.` }
    },
  }),
  endpoint({
    name: 'listAvailablePlugins',
    method: 'GET',
    path: '/api/v1/admin/plugin-repositories/available',
    summary: 'List the plugins in enabled repositories, and why some versions cannot be installed',
    tag,
    allow,
    query: Type.Object({
      search: Type.Optional(Type.String({ maxLength: 200, description: 'A word in the name, summary or identifier.' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AVAILABLE_MAX })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    reply: Type.Object({ plugins: Type.Array(AvailablePlugin), total: Count }),
    run: async ({ services }, { query }) => {
      const { plugins, total } = await services.repositories.listAvailable({ limit: 50, ...query })
      return { plugins: plugins.map(offeredPluginView), total }
    },
  }),
  endpoint({
    name: 'patchPluginRepository',
    method: 'PATCH',
    path: '/api/v1/admin/plugin-repositories/:repositoryId',
    summary: 'Enable or disable a plugin repository; keeps its revocations',
    tag,
    allow,
    params: RepositoryId,
    body: Type.Object({ enabled: Type.Boolean() }),
    reply: PluginRepository,
    run: async ({ services }, { params, body }) =>
      repositoryView(await services.repositories.setEnabled(params.repositoryId, body.enabled)),
  }),
  endpoint({
    name: 'deletePluginRepository',
    method: 'DELETE',
    path: '/api/v1/admin/plugin-repositories/:repositoryId',
    summary: 'Remove a plugin repository; keeps its installed plugins and its revocations',
    tag,
    allow,
    status: 204,
    params: RepositoryId,
    run: ({ services }, { params }) => services.repositories.remove(params.repositoryId),
  }),
  endpoint({
    name: 'refreshPluginRepository',
    method: 'POST',
    path: '/api/v1/admin/plugin-repositories/:repositoryId/refresh',
    summary: 'Fetch the index of a plugin repository; if this fails, the previous one stays and `error` says why',
    tag,
    allow,
    params: RepositoryId,
    reply: PluginRepository,
    run: async ({ services }, { params }) => repositoryView(await services.repositories.refresh(params.repositoryId)),
  }),
  endpoint({
    name: 'installPluginOfRepository',
    method: 'POST',
    path: '/api/v1/admin/plugin-repositories/:repositoryId/install',
    summary: 'Install or update a plugin from a repository; it runs after consent to its permissions',
    tag,
    allow,
    status: 201,
    params: RepositoryId,
    body: Type.Object({
      pluginId: Type.String({ minLength: 1, maxLength: 64, description: 'Identifier of the plugin, such as org.example.anilist.' }),
      version: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Default: the newest installable version.' })),
      ...CONFIRMED_ORIGIN,
    }),
    reply: Type.Object({
      pluginId: Uuid,
      name: Type.String({ description: 'Identifier of the plugin.' }),
      version: Type.String({ description: 'The installed version.' }),
      sha256: Type.String({ description: 'SHA-256 of its package, which consent refers to.' }),
      waitsFor: Type.Array(Type.String(), {
        description: 'What needs consent before this version runs; empty if it runs already.',
      }),
      signature: PluginSignatureView,
      review: PluginReview,
      message: Type.String(),
    }),
    run: async (call, { params, body }) => {
      const request = { repositoryId: params.repositoryId, ...body, userId: call.caller.userId }
      const installed = await call.services.repositories.install(request)
      const { plugin, version, sha256, waitsFor, signature } = installed
      call.created(`/api/v1/admin/plugins/${plugin.id}`)
      const message = installationMessage(plugin.key, installed)
      return { pluginId: plugin.id, name: plugin.key, version, sha256, waitsFor, signature, review: newReviewView(installed), message }
    },
  }),
]
