import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import { komgaPage, komgaPageQuery, PageOf, readWindow } from '#api/komga/page-object.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { secondsOf } from '#api/komga/values.ts'
import type { UserDetail } from '#core/account/user.ts'
import { refuse } from '#core/foundation/errors.ts'
import { FreeJson, FreeObject, Nullable, UNTRIMMED, Uuid } from '#core/foundation/schema.ts'
import { browseFolder, listRootFolders } from '#core/scan/browse-folders.ts'

type Services = AccountServices & Pick<DataServices, 'database' | 'settings'>
const komgaEndpoint = komgaEndpointOf<Services>()

const Text = Type.String()
const Activity = Type.Object(
  {
    id: Text,
    userId: Text,
    email: Text,
    apiKeyId: Type.Null(),
    apiKeyComment: Type.Null(),
    ip: Type.Null(),
    userAgent: Type.Null(),
    success: Type.Boolean(),
    error: Type.Null(),
    dateTime: Text,
    source: Text,
  },
  { title: 'KomgaAuthenticationActivity' },
)
type Activity = Static<typeof Activity>

/** The server keeps only the last successful sign-in. */
const activityOf = ({ id, email, lastLoginAt }: Pick<UserDetail, 'id' | 'email' | 'lastLoginAt'>): Activity[] => {
  if (lastLoginAt === null) return []
  const unknown = { apiKeyId: null, apiKeyComment: null, ip: null, userAgent: null, error: null }
  const dateTime = secondsOf(lastLoginAt)
  return [{ id: `${id}-${dateTime}`, userId: id, email, ...unknown, success: true, dateTime, source: 'Password' }]
}

const Setting = <const T extends TSchema>(value: T) =>
  Type.Object({ configurationSource: value, databaseSource: value, effectiveValue: value })
/** Some apps require a value in each place: what is in force stands everywhere. */
const everywhere = <T>(value: T) => ({ configurationSource: value, databaseSource: value, effectiveValue: value })
const Settings = Type.Object(
  {
    deleteEmptyCollections: Type.Boolean(),
    deleteEmptyReadLists: Type.Boolean(),
    rememberMeDurationDays: Type.Integer(),
    thumbnailSize: Text,
    taskPoolSize: Type.Integer(),
    serverPort: Setting(Type.Integer()),
    serverContextPath: Setting(Text),
    koboProxy: Type.Boolean(),
    koboPort: Type.Null(),
    kepubifyPath: Setting(Text),
  },
  { title: 'KomgaSettings' },
)

const Directory = Type.Object({ type: Text, name: Text, path: Text })
/** Apps send an empty path first. */
const PathBody = Type.Object(
  { path: Type.Optional(Nullable(Type.String({ ...UNTRIMMED, maxLength: 4_096 }))), showFiles: Type.Optional(Nullable(Type.Boolean())) },
  { additionalProperties: true, maxProperties: 100 },
)

/** Lists of what this server does not do. */
const EMPTY_PAGES = [
  ['history', 'What was done with files: always empty, because this server changes none'],
  ['page-hashes', 'Known hashes of pages: always empty, because the server keeps none'],
  ['page-hashes/unknown', 'Hashes of pages that are in several books: always empty, because the server keeps none'],
] as const
const Nothing = Type.Object({}, { title: 'KomgaNothing' })

/** Other requests of apps: lists that are always empty here, and details of the server. */
export const komgaPolledRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/users/me/authentication-activity',
    summary: 'My last sign-in with a password',
    who: 'user',
    query: Type.Object(komgaPageQuery),
    reply: PageOf(Activity),
    run: async (call, { query }) => {
      const window = readWindow(query)
      const all = activityOf(await call.services.accounts.getUser(call.caller.userId))
      const content = all.slice(window.offset, window.offset + window.limit)
      return komgaPage(window, { content, count: content.length, total: all.length })
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/users/authentication-activity',
    summary: 'Sign-ins of all users: always empty, because the server keeps no list',
    who: 'users-read',
    query: Type.Object(komgaPageQuery),
    reply: PageOf(Activity),
    run: async (_call, { query }) => komgaPage(readWindow(query), { content: [], count: 0, total: 0 }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/users/:userId/authentication-activity/latest',
    summary: 'The last sign-in of a user with a password; 404 if there was none',
    who: 'users-read',
    params: Type.Object({ userId: Uuid }),
    reply: Activity,
    run: async (call, { params }) => {
      const [last] = activityOf(await call.services.accounts.getUser(params.userId))
      return last ?? refuse('not_found', 'This user has not signed in with a password yet.')
    },
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/settings',
    summary: 'Settings of the server that Komga has too; change them with the API of Carrel',
    who: 'system-admin',
    reply: Settings,
    run: async ({ services: { settings }, path }) => ({
      deleteEmptyCollections: false,
      deleteEmptyReadLists: false,
      rememberMeDurationDays: settings.refreshTokenDays,
      thumbnailSize: 'DEFAULT',
      taskPoolSize: 1,
      serverPort: everywhere(settings.port),
      serverContextPath: everywhere(`/${path.split('/', 2)[1]}`),
      koboProxy: false,
      koboPort: null,
      kepubifyPath: everywhere(''),
    }),
  }),
  komgaEndpoint({
    method: 'PATCH',
    path: '/api/v1/settings',
    summary: 'Refused: change settings with the API of Carrel',
    who: 'system-admin',
    status: 204,
    body: FreeObject(),
    run: () => refuse('invalid_value', 'This server has no settings of Komga; change its own at /api/v1/admin/settings.'),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/announcements',
    summary: 'Announcements of the Komga project: always empty',
    who: 'system-admin',
    reply: Type.Object({
      version: Text,
      title: Text,
      home_page_url: Nullable(Text),
      description: Nullable(Text),
      items: Type.Array(FreeJson),
    }),
    run: async () => ({
      version: 'https://jsonfeed.org/version/1',
      title: 'Announcements',
      home_page_url: null,
      description: null,
      items: [],
    }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/releases',
    summary: 'Releases of Komga: always empty',
    who: 'system-admin',
    reply: Type.Array(FreeJson),
    run: async () => [],
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/oauth2/providers',
    summary: 'Services to sign in with: always empty',
    who: 'public',
    reply: Type.Array(FreeJson),
    run: async () => [],
  }),
  ...EMPTY_PAGES.map(([path, summary]) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/${path}`,
      summary,
      who: 'system-admin',
      query: Type.Object(komgaPageQuery),
      reply: PageOf(Nothing),
      run: async (_call, { query }) => komgaPage(readWindow(query), { content: [], count: 0, total: 0 }),
    }),
  ),
  komgaEndpoint({
    method: 'GET',
    path: '/api/v1/fonts/families',
    summary: 'Fonts for reading: always empty',
    who: 'user',
    reply: Type.Array(Text),
    run: async () => [],
  }),
  ...(['global', 'user'] as const).map((scope) =>
    komgaEndpoint({
      method: 'GET',
      path: `/api/v1/client-settings/${scope}/list`,
      summary: `Settings of apps for ${scope === 'user' ? 'a user' : 'all users'}: always empty`,
      who: scope === 'user' ? 'user' : 'public',
      reply: FreeObject(),
      run: async () => ({}),
    }),
  ),
  komgaEndpoint({
    method: 'GET',
    path: '/actuator/info',
    summary: 'Name and version of the server',
    who: 'system-admin',
    reply: Type.Object({ build: Type.Object({ name: Text, version: Text }) }),
    run: async () => ({ build: { name: NAME, version: VERSION } }),
  }),
  komgaEndpoint({
    method: 'POST',
    path: '/api/v1/filesystem',
    changes: null,
    summary: 'The content of a folder of the server, in the folders of filesystem.roots',
    who: 'system-admin',
    bodyOptional: true,
    body: PathBody,
    reply: Type.Object({ parent: Nullable(Text), directories: Type.Array(Directory), files: Type.Array(Directory) }),
    run: async ({ services, caller }, { body }) => {
      const found = body.path
        ? await browseFolder(services, caller, body.path)
        : { parentPath: null, entries: await listRootFolders(services, caller) }
      const shown = (isDirectory: boolean) =>
        found.entries
          .filter((entry) => entry.isDirectory === isDirectory)
          .map(({ name, path }) => ({ type: isDirectory ? 'directory' : 'file', name, path }))
      return { parent: found.parentPath, directories: shown(true), files: body.showFiles ? shown(false) : [] }
    },
  }),
]
