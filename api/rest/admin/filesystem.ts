import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { UNTRIMMED } from '#core/foundation/schema.ts'
import { BrowsedFolder, browseFolder, FileSystemEntry, listRootFolders } from '#core/ingest/browse-folders.ts'

type Services = Needs<'database' | 'settings'>
const endpoint = endpointOf<Services>()

const tag = 'filesystem'
const allow = { who: 'system-admin' } as const

export const filesystemRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/filesystem/drives',
    summary: 'Folders of the server at which looking for a library begins (setting filesystem.roots)',
    tag,
    allow,
    reply: Type.Array(FileSystemEntry),
    run: ({ services }) => listRootFolders(services),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/filesystem/browse',
    summary: 'What lies in a folder of the server, at or below the folders of filesystem.roots',
    tag,
    allow,
    query: Type.Object({
      path: Type.Optional(
        Type.String({ ...UNTRIMMED, minLength: 1, maxLength: 4_096, description: 'Absolute; the home folder unless said.' }),
      ),
    }),
    reply: BrowsedFolder,
    run: ({ services }, { query }) => browseFolder(services, query.path),
  }),
]
