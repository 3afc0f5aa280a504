import Type from 'typebox'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { koreaderMount as mount } from '#api/koreader/mount.ts'
import { refuse } from '#core/foundation/errors.ts'
import { AnyNumber } from '#core/foundation/schema.ts'
import { getDocumentPosition, recordDocumentPosition } from '#core/reading/sync.ts'

type Services = Pick<ContentServices, 'publications'> & Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

/** An MD5 in hexadecimal digits; a longer text cannot identify a file. */
const Document = Type.String({ minLength: 1, maxLength: 64, description: 'Partial MD5 of the file, as readerHash of a book.' })
/** A path to an element can be as long as the text is deep. */
const PROGRESS_LENGTH_MAX = 4_000
/** Device models and serial numbers. */
const DEVICE_LENGTH_MAX = 200
/** Newer versions send more about the book, which is not stored. */
const MEMBERS_MAX = 50

const DevicePlace = {
  progress: Type.String({ description: 'A page, or a path to an element of the text.' }),
  percentage: Type.Number({ minimum: 0, maximum: 1 }),
  device: Type.String(),
  device_id: Type.String(),
}

/** The progress sync of KOReader. Its user name is an API key; its password, an MD5, proves nothing and is ignored. */
export const koreaderRoutes = [
  endpoint({
    method: 'POST',
    path: '/koreader/users/create',
    changes: null,
    summary: 'Refuse to create an account: KOReader uses an API key of an existing one',
    tag: 'koreader',
    allow: { who: 'public' },
    mount,
    status: 204,
    run: async () =>
      refuse(
        'forbidden',
        'KOReader cannot create Carrel accounts. Choose Login, and enter a Carrel API key as the user name; the password is ignored.',
      ),
  }),
  endpoint({
    method: 'GET',
    path: '/koreader/users/auth',
    summary: 'Check that the API key is valid and may read and change progress',
    tag: 'koreader',
    // A key with only one of the permissions would fail later, without a message in the app.
    allow: { who: 'progress-read', also: ['progress-write'], userHeader: true },
    mount,
    reply: Type.Object({ authorized: Type.Literal('OK') }),
    run: async () => ({ authorized: 'OK' as const }),
  }),
  endpoint({
    method: 'PUT',
    path: '/koreader/syncs/progress',
    summary: 'Set my position in a file, for all its copies',
    tag: 'koreader',
    allow: { who: 'progress-write', userHeader: true },
    mount,
    body: Type.Object(
      {
        document: Document,
        progress: Type.Union([Type.String({ maxLength: PROGRESS_LENGTH_MAX }), AnyNumber()]),
        percentage: Type.Number({ minimum: 0, maximum: 1 }),
        device: Type.Optional(Type.String({ maxLength: DEVICE_LENGTH_MAX })),
        device_id: Type.Optional(Type.String({ maxLength: DEVICE_LENGTH_MAX })),
      },
      { additionalProperties: true, maxProperties: MEMBERS_MAX },
    ),
    reply: Type.Object({ document: Type.String(), timestamp: Type.Integer({ description: 'Seconds since 1970.' }) }),
    run: async (call, { body }) => {
      const { document, percentage, device = 'KOReader', device_id: deviceId = '' } = body
      const place = { progress: String(body.progress), percentage, device, deviceId }
      const at = await recordDocumentPosition(call.services, call.caller, document, place)
      return { document, timestamp: Math.floor(at / 1000) }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/koreader/syncs/progress/:document',
    summary: 'Get my last position in a file, in any copy; an empty object if I have not begun it',
    tag: 'koreader',
    allow: { who: 'progress-read', userHeader: true },
    mount,
    params: Type.Object({ document: Document }),
    reply: Type.Union([
      Type.Object({ document: Type.String(), ...DevicePlace, timestamp: Type.Integer() }),
      Type.Object({}, { additionalProperties: false }),
    ]),
    run: async (call, { params: { document } }) => {
      const place = await getDocumentPosition(call.services, call.caller, document)
      if (place === null) return {}
      const { progress, percentage, device, deviceId, at } = place
      return { document, progress, percentage, device, device_id: deviceId, timestamp: Math.floor(at / 1000) }
    },
  }),
]
