import t from 'tap'
import { infoRoutes } from '#api/rest/admin/info.ts'
import { openTestServer } from '#test/support/server.ts'

const READER = 'https://reader.example.org'
const OTHER = 'https://other.example.org'

t.test('pages of other origins', async (t) => {
  const table: { name: string; corsOrigins: string[]; origin: string; allowed: string | null; credentials: string | null }[] = [
    { name: 'none unless said', corsOrigins: [], origin: READER, allowed: null, credentials: null },
    { name: 'a named origin, with credentials', corsOrigins: [READER], origin: READER, allowed: READER, credentials: 'true' },
    { name: 'no other beside it', corsOrigins: [READER], origin: OTHER, allowed: null, credentials: null },
    {
      name: 'what only begins alike is another',
      corsOrigins: [READER],
      origin: `${READER}.evil.example`,
      allowed: null,
      credentials: null,
    },
    { name: 'any origin, without credentials', corsOrigins: ['*'], origin: OTHER, allowed: '*', credentials: null },
    { name: 'a named one beside any', corsOrigins: ['*', READER], origin: READER, allowed: READER, credentials: 'true' },
    { name: 'a sandboxed page has no name', corsOrigins: [READER], origin: 'null', allowed: null, credentials: null },
  ]
  for (const { name, corsOrigins, origin, allowed, credentials } of table) {
    await t.test(name, async (t) => {
      const server = await openTestServer(t, { routes: infoRoutes, admin: false, settings: { corsOrigins } })
      for (const path of ['/api/v1/info', '/nowhere', '/api/v1/info?unknown=1']) {
        const { headers } = await fetch(server.url + path, { headers: { origin } })
        t.equal(headers.get('access-control-allow-origin'), allowed, path)
        t.equal(headers.get('access-control-allow-credentials'), credentials)
        t.equal(
          (headers.get('vary') ?? '').includes('Origin'),
          corsOrigins.some((one) => one !== '*'),
        )
      }
      const asked = await fetch(`${server.url}/api/v1/info`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization,content-type' },
      })
      t.equal(asked.status, allowed === null ? 405 : 204)
      t.equal(asked.headers.get('access-control-allow-origin'), allowed)
      if (allowed === null) return
      t.match(asked.headers.get('access-control-allow-methods'), /\bPATCH\b/)
      t.match(asked.headers.get('access-control-allow-headers'), /Authorization, Content-Type/)
    })
  }
})
