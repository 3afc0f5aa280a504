import type { Answer, Ask, TestServer } from '#test/support/server.ts'

/** How browsers mark the requests of a page of the server itself. */
export const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }

/** A browser that has signed in. */
export interface SignedInBrowser {
  /** The session cookie, as browsers send it. */
  cookie: string
  /** A request of a page of the server. */
  request<T = never>(method: string, path: string, ask?: Omit<Ask, 'token'>): Promise<Answer<T>>
}

/** The cookies that an answer sets, without their attributes; those that it clears have empty values. */
export const cookiesOf = ({ headers }: Pick<Answer<unknown>, 'headers'>): Map<string, string> =>
  new Map(headers.getSetCookie().map((line) => (line.split(';')[0] ?? '').split('=', 2) as [string, string]))

/** Signs in with a cookie. @param path of another route that signs in, with the same body */
export async function openBrowser(
  server: Pick<TestServer, 'request'>,
  login: { username: string; password: string; email?: string },
  { path = '/api/v1/auth/login', userAgent = 'Test browser' } = {},
): Promise<SignedInBrowser> {
  const headers = { ...OWN_PAGE, 'user-agent': userAgent }
  const answer = await server.request('POST', path, { headers, body: { ...login, session: 'cookie' } })
  const token = cookiesOf(answer).get('carrel_session')
  if (answer.status > 201 || !token) throw new Error(`The browser could not sign in: ${answer.status} ${answer.text}`)
  const cookie = `carrel_session=${token}`
  return {
    cookie,
    request: (method, path, ask = {}) => server.request(method, path, { ...ask, headers: { cookie, ...OWN_PAGE, ...ask.headers } }),
  }
}
