import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { Mount } from '#api/http/mount.ts'
import { readFreshSetting } from '#core/settings/chosen-setting-store.ts'

/** The form of errors that KOReader reads: it shows the message, and distinguishes errors by the number. */
const Refusal = Type.Object({ code: Type.Integer(), message: Type.String(), requestId: Type.String() }, { title: 'SyncRefusal' })

/** Error numbers of the protocol; all other errors count as internal errors of the server. */
const CODES: Record<number, number> = { 400: 2003, 401: 2001, 403: 2005, 404: 2004 }
const OTHER = 2000

/** All addresses of KOReader are below /koreader; they exist only while an administrator has enabled them. */
export const koreaderMount: Mount<Pick<DataServices, 'database'>> = {
  dialect: {
    challenge: 'Bearer realm="Carrel"',
    refusalOf: ({ status, body }) => {
      const statusHere = status === 422 ? 400 : status
      const requestId = 'requestId' in body ? body.requestId : ''
      return { status: statusHere, body: { code: CODES[statusHere] ?? OTHER, message: body.message, requestId } }
    },
    shapeOf: () => ({ schema: Refusal }),
  },
  covers: (path) => path === '/koreader' || path.startsWith('/koreader/'),
  isOpen: async (_path, { database }) => (await readFreshSetting(database, 'readerSync.enabled')) === 'true',
}
