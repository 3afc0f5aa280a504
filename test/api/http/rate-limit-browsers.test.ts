import t from 'tap'
import { routes as allRoutes } from '#api/routes.ts'
import { openBrowser } from '#test/support/browsers.ts'
import { onRequestStatement } from '#test/support/request-statements.ts'
import { stream } from '#test/support/route.ts'
import { ADMIN, openTestServer } from '#test/support/server.ts'

/** So slow that nothing is refilled during a test. */
const SLOW = {
  enabled: true,
  anonymous: { perSecond: 0.01, burst: 3 },
  authenticated: { perSecond: 0.01, burst: 6 },
  pictures: { perSecond: 0.01, burst: 9 },
}

t.test('pictures for the session of a browser have a bucket of their own, and count like calls for everybody else', async (t) => {
  const picture = { summary: 'a picture', tag: 'test', allow: { who: 'user' as const, cookie: true }, mediaTypes: ['image/png'] }
  const bytes = async () => ({ kind: 'bytes' as const, bytes: Buffer.from('x'), mediaType: 'image/png', cacheControl: 'no-store' })
  const ours = [
    ...allRoutes.filter(({ path }) => path.startsWith('/api/v1/auth/')),
    stream({ ...picture, path: '/api/v1/covers', rate: 'pictures', run: bytes }),
    stream({ ...picture, path: '/api/v1/files', run: bytes }),
  ]
  const server = await openTestServer(t, { routes: ours, settings: { rateLimit: SLOW } })
  const left = async (path: string, headers: Record<string, string>) => {
    const answer = await server.request('GET', path, { headers })
    return `${answer.headers.get('x-ratelimit-remaining')}/${answer.headers.get('x-ratelimit-limit')} ${answer.status}`
  }
  const { cookie } = await openBrowser(server, { username: ADMIN.username, password: ADMIN.password })
  t.equal(await left('/api/v1/covers', { cookie }), '8/9 200')
  t.equal(await left('/api/v1/files', { cookie }), '5/6 200', 'a download is a call')
  t.equal(await left('/api/v1/auth/me', { cookie }), '4/6 200')
  t.equal(await left('/api/v1/covers', { cookie: `auth_token=${server.adminToken}` }), '3/6 200', 'the cookie of a program with tokens')
  t.equal(await left('/api/v1/covers', { cookie, authorization: `Bearer ${server.adminToken}` }), '2/6 200', 'the token counts')
  for (let count = 0; count < 8; count++) t.equal(await left('/api/v1/covers', { cookie }), `${7 - count}/9 200`)
  t.equal(await left('/api/v1/covers', { cookie }), '0/9 429')
  t.equal(await left('/api/v1/auth/me', { cookie }), '1/6 200', 'pages still get their data')
})

t.test('every picture counts as one, and nothing else does', async (t) => {
  const pictures = allRoutes
    .filter(({ mount }) => mount === undefined)
    .filter((route) => route.kind === 'stream' && route.rate === 'pictures')
  t.same(pictures.map(({ name }) => name).sort(), [
    ...['getBookCoverImage', 'getBookPage', 'getBookResource', 'getBookThumbnail', 'getCollectionThumbnail', 'getPluginPicture'],
    ...['getReadListThumbnail', 'getSeriesCoverImage', 'getSeriesThumbnail'],
  ])
  const images = allRoutes.filter((route) => route.kind === 'stream' && route.mount === undefined && /image/.test(`${route.mediaTypes}`))
  for (const { name } of images)
    t.ok(
      pictures.some((one) => one.name === name),
      `${name}`,
    )
})

t.test('guessing sessions of browsers counts like guessing keys', async (t) => {
  const server = await openTestServer(t, { settings: { rateLimit: SLOW } })
  const { cookie } = await openBrowser(server, { username: ADMIN.username, password: ADMIN.password })
  const ask = async (headers: Record<string, string>) => {
    const answer = await server.request('GET', '/api/v1/auth/me', { headers })
    return `${answer.headers.get('x-ratelimit-remaining')}/${answer.headers.get('x-ratelimit-limit')} ${answer.status}`
  }
  const guess = (letter: string) => ({ cookie: `carrel_session=st_${letter.repeat(43)}` })
  t.equal(await ask({ cookie }), '5/6 200')
  let lookups = 0
  onRequestStatement(server.database, (sql) => {
    if (sql.includes('browser_sessions')) lookups++
  })
  for (const [letter, left] of [
    ['a', '2/3 401'],
    ['b', '1/3 401'],
    ['c', '0/3 401'],
    ['d', '0/3 429'],
  ] as const)
    t.equal(await ask(guess(letter)), left)
  t.equal(lookups, 3, 'a refused guess costs no query')
  t.equal(
    await ask({ cookie: 'carrel_session=nonsense' }),
    '1/3 401',
    'what cannot be a session is no guess, and counts for the address like the sign-in',
  )
  t.equal(await ask({ cookie }), '4/6 200', 'a known session is not a guess')
  t.equal(await ask({ ...guess('e'), authorization: `Bearer ${server.adminToken}` }), '3/6 200', 'nor is a cookie that does not count')
})
