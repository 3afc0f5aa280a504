import Type from 'typebox'
import type { Mount } from '#api/http/mount.ts'
import type { Needs } from '#api/http/services.ts'
import { readFreshSetting } from '#core/settings/chosen-setting-store.ts'

/** A refusal as KOReader reads it: it shows the message, and tells refusals apart by the number. */
const Refusal = Type.Object({ code: Type.Integer(), message: Type.String(), requestId: Type.String() }, { title: 'SyncRefusal' })

/** The numbers of the protocol; what has none there is an internal error of the server to it. */
const CODES: Record<number, number> = { 400: 2003, 401: 2001, 403: 2005, 404: 2004 }
const OTHER = 2000

/** Everything that KOReader asks for lies below /koreader, and nothing is there until an administrator opens it. */
export const koreaderMount: Mount<Needs<'database'>> = {
  dialect: {
    challenge: 'Bearer realm="Carrel"',
    refusalOf: ({ status, body }) => {
      const said = status === 422 ? 400 : status
      const requestId = 'requestId' in body ? body.requestId : ''
      return { status: said, body: { code: CODES[said] ?? OTHER, message: body.message, requestId } }
    },
    shapeOf: () => ({ schema: Refusal }),
  },
  covers: (path) => path === '/koreader' || path.startsWith('/koreader/'),
  isOpen: async (_path, { database }) => (await readFreshSetting(database, 'readerSync.enabled')) === 'true',
}
