import type { Static } from 'typebox'
import Type from 'typebox'
import { ERROR } from '#api/docs/openapi-responses.ts'
import { BASIC } from '#api/http/failure.ts'
import type { Mount } from '#api/http/mount.ts'
import type { Needs } from '#api/http/services.ts'
import { NAME } from '#api/http/version.ts'
import { ATOM_ROOT, AUTHENTICATION_PATH, OPDS_ROOT, OPDS2_ROOT } from '#api/opds/addresses.ts'
import { atomType } from '#api/opds/atom.ts'
import { FEED_TYPE } from '#api/opds/opds2.ts'

export const AUTHENTICATION_TYPE = 'application/opds-authentication+json'
/** Where the client does not say where it sees us there is no address to name; RFC 3986 knows this one everywhere. */
const NO_ORIGIN = 'http://localhost'

const Link = Type.Object({ rel: Type.String(), href: Type.String(), type: Type.String() })
/** Authentication for OPDS 1.0. */
const AuthenticationDocument = Type.Object(
  {
    id: Type.String({ description: 'Where this document is.' }),
    title: Type.String(),
    description: Type.String(),
    links: Type.Array(Link),
    authentication: Type.Array(
      Type.Object({ type: Type.String(), labels: Type.Object({ login: Type.String(), password: Type.String() }) }),
    ),
  },
  { title: 'OpdsAuthentication' },
)

/** How one signs in to the feeds. @param origin where the client sees this server */
export function authenticationDocument(origin: string | null): Static<typeof AuthenticationDocument> {
  return {
    id: (origin ?? NO_ORIGIN) + AUTHENTICATION_PATH,
    title: NAME,
    description: 'Sign in with your user name and your password, or with an API key in place of the password.',
    links: [
      { rel: 'start', href: OPDS2_ROOT, type: FEED_TYPE },
      { rel: 'start', href: ATOM_ROOT, type: atomType('navigation') },
    ],
    authentication: [{ type: 'http://opds-spec.org/auth/basic', labels: { login: 'User name', password: 'Password or API key' } }],
  }
}

/** The part of the address space that feed readers know: whoever has to sign in is told how in the form of OPDS; all else is refused as everywhere. */
export const opdsMount: Mount<Needs<'database'>> = {
  covers: (path) => path === OPDS_ROOT || path.startsWith(`${OPDS_ROOT}/`),
  slashAtEnd: true,
  dialect: {
    challenge: BASIC,
    refusalOf: (answer, { origin }) =>
      answer.status === 401
        ? {
            status: 401,
            body: authenticationDocument(origin),
            mediaType: AUTHENTICATION_TYPE,
            headers: {
              Link: `<${AUTHENTICATION_PATH}>; rel="http://opds-spec.org/auth/document"; type="${AUTHENTICATION_TYPE}"`,
            },
          }
        : answer,
    shapeOf: (status) => (status === 401 ? { schema: AuthenticationDocument, mediaType: AUTHENTICATION_TYPE } : { schema: ERROR }),
  },
}
