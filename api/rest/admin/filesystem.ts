import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { UNTRIMMED } from '#core/foundation/schema.ts'
import { BrowsedFolder, browseFolder, FileSystemEntry, listRootFolders } from '#core/scan/browse-folders.ts'

type Services = Pick<DataServices, 'database' | 'settings'>
const endpoint = endpointOf<Services>()

const tag = 'filesystem'
const allow = { who: 'system-admin' } as const

export const filesystemRoutes = [
  endpoint({
    name: 'listFilesystemDrives',
    method: 'GET',
    path: '/api/v1/filesystem/drives',
    summary: 'List the folders in which libraries may be (setting filesystem.roots)',
    tag,
    allow,
    reply: Type.Array(FileSystemEntry),
    run: ({ services, caller }) => listRootFolders(services, caller),
  }),
  endpoint({
    name: 'browseFilesystem',
    method: 'GET',
    path: '/api/v1/filesystem/browse',
    summary: 'List a folder of the server, at or below the folders of filesystem.roots',
    tag,
    allow,
    query: Type.Object({
      path: Type.Optional(
        Type.String({ ...UNTRIMMED, minLength: 1, maxLength: 4_096, description: 'Absolute path; default: the home folder.' }),
      ),
    }),
    reply: BrowsedFolder,
    run: ({ services, caller }, { query }) => browseFolder(services, caller, query.path),
  }),
]
