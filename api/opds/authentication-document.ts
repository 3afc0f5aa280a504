import type { Static } from 'typebox'
import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { ERROR } from '#api/docs/openapi-responses.ts'
import { BASIC } from '#api/http/failure.ts'
import type { Mount } from '#api/http/mount.ts'
import { ATOM_ROOT, AUTHENTICATION_PATH, OPDS_ROOT, OPDS2_ROOT } from '#api/opds/addresses.ts'
import { atomType } from '#api/opds/atom.ts'
import { FEED_TYPE } from '#api/opds/opds2.ts'

export const AUTHENTICATION_TYPE = 'application/opds-authentication+json'
/** Used when the origin is unknown: the document needs an absolute address, and RFC 6761 reserves this name for every machine. */
const NO_ORIGIN = 'http://localhost'

const Link = Type.Object({ rel: Type.String(), href: Type.String(), type: Type.String() })
/** Authentication for OPDS 1.0. */
const AuthenticationDocument = Type.Object(
  {
    id: Type.String({ description: 'Address of this document.' }),
    title: Type.String(),
    description: Type.String(),
    links: Type.Array(Link),
    authentication: Type.Array(
      Type.Object({ type: Type.String(), labels: Type.Object({ login: Type.String(), password: Type.String() }) }),
    ),
  },
  { title: 'OpdsAuthentication' },
)

/** How to sign in to the feeds. @param name of the library @param origin of this server as the client sees it */
export function authenticationDocument(name: string, origin: string | null): Static<typeof AuthenticationDocument> {
  return {
    id: (origin ?? NO_ORIGIN) + AUTHENTICATION_PATH,
    title: name,
    description: 'Sign in with your user name and your password, or with an API key in place of the password.',
    links: [
      { rel: 'start', href: OPDS2_ROOT, type: FEED_TYPE },
      { rel: 'start', href: ATOM_ROOT, type: atomType('navigation') },
    ],
    authentication: [{ type: 'http://opds-spec.org/auth/basic', labels: { login: 'User name', password: 'Password or API key' } }],
  }
}

/** The mount of the feeds: a 401 carries the OPDS authentication document; all other errors are as everywhere. */
export const opdsMount: Mount<Pick<DataServices, 'database'>> = {
  covers: (path) => path === OPDS_ROOT || path.startsWith(`${OPDS_ROOT}/`),
  dialect: {
    challenge: BASIC,
    refusalOf: async (answer, { origin, readName }) =>
      answer.status === 401
        ? {
            status: 401,
            body: authenticationDocument(await readName(), origin),
            mediaType: AUTHENTICATION_TYPE,
            headers: {
              Link: `<${AUTHENTICATION_PATH}>; rel="http://opds-spec.org/auth/document"; type="${AUTHENTICATION_TYPE}"`,
            },
          }
        : answer,
    shapeOf: (status) => (status === 401 ? { schema: AuthenticationDocument, mediaType: AUTHENTICATION_TYPE } : { schema: ERROR }),
  },
}
