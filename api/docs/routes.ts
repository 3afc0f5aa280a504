import type { DataServices } from '#api/areas/data.ts'
import { DOCS_FILES, findDocsFile } from '#api/docs/files.ts'
import { startPage } from '#api/docs/start-page.ts'
import { streamOf } from '#api/http/endpoint.ts'
import { refuse } from '#core/foundation/errors.ts'
import { readFreshSetting, readSetting } from '#core/settings/chosen-setting-store.ts'

type Services = Pick<DataServices, 'database'>
const stream = streamOf<Services>()

/** The interactive documentation; its addresses exist only while the setting enables it. */
const documentation = DOCS_FILES.map((file) =>
  stream({
    path: file.name === '' ? '/api/docs' : `/api/docs/${file.name}`,
    summary:
      file.name === ''
        ? 'Browse this API as interactive pages; requires the setting apiDocs.enabled'
        : `${file.name} of the interactive pages`,
    tag: 'docs',
    allow: { who: 'public' },
    mediaTypes: [file.mediaType.split(';')[0] as string],
    run: async ({ services }) => {
      if ((await readFreshSetting(services.database, 'apiDocs.enabled')) !== 'true') refuse('not_found', 'This address does not exist.')
      return await findDocsFile(file)
    },
  }),
)

export const docsRoutes = [
  stream({
    path: '/',
    summary: 'Get the start page, which lists the interfaces of this server',
    tag: 'docs',
    allow: { who: 'public' },
    mediaTypes: ['text/html'],
    run: async ({ services: { database } }) =>
      startPage({
        name: await readSetting(database, 'application.name'),
        hasDocs: (await readSetting(database, 'apiDocs.enabled')) === 'true',
      }),
  }),
  ...documentation,
]
