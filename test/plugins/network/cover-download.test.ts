import type { RequestListener } from 'node:http'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import { CoverError, type CoverErrorCode, coverTypeOf, downloadCover } from '#plugins/network/cover-download.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { forever } from '#test/support/egress.ts'
import { openLoopback } from '#test/support/plugins.ts'

t.setTimeout(60_000)

/** The hosts of these tests. */
const RULES = ['*.example.com', '*.example.net', ...Array.from({ length: 60 }, (_, n) => `*.example${n}.com`)].map((host) => ({
  host,
  methods: ['GET'],
}))
const latin = (text: string) => Buffer.from(text, 'latin1')
const box = (type: string, ...brands: string[]) => {
  const body = latin(`${type}${brands[0] ?? ''}\0\0\0\0${brands.slice(1).join('')}`)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}
const PICTURES: Record<string, Buffer> = {
  'image/jpeg': latin('\xff\xd8\xff\xe0\0\x10JFIF\0'),
  'image/png': latin('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'),
  'image/gif': latin('GIF89a\x01\0\x01\0'),
  'image/webp': latin('RIFF\x24\0\0\0WEBPVP8 '),
  'image/avif': Buffer.concat([box('ftyp', 'avif', 'mif1', 'miaf'), latin('more')]),
}
const NONE: Record<string, Buffer> = {
  empty: Buffer.alloc(0),
  'a byte': latin('\xff'),
  'half a signature': latin('\xff\xd8'),
  svg: latin('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
  'svg behind a mark': Buffer.concat([latin('\xef\xbb\xbf'), latin('<?xml version="1.0"?><svg/>')]),
  'svg, packed': zlib.gzipSync('<svg/>'),
  html: latin('<!doctype html><img src="x.png">'),
  json: latin('{"error":"not found"}'),
  pdf: latin('%PDF-1.7'),
  bmp: latin('BM\0\0\0\0'),
  tiff: latin('II*\0'),
  'a sound in RIFF': latin('RIFF\x24\0\0\0WAVEfmt '),
  'another GIF': latin('GIF88a\0\0'),
  'a late PNG': latin(' \x89PNG\r\n\x1a\n'),
  'PNG with changed line ends': latin('\x89PNG\n\x1a\n'),
  heic: box('ftyp', 'heic', 'mif1', 'heic'),
  video: box('ftyp', 'isom', 'iso2', 'mp41'),
  'a version that reads avif': Buffer.concat([latin('\0\0\0\x10ftypmp41avif'), latin('avif')]),
  'a box that ends before': Buffer.concat([latin('\0\0\0\x14ftypmp41\0\0\0\0isom'), latin('avif')]),
  'a box of nothing': latin('\0\0\0\0ftypavif'),
}

async function openCovers(t: Test, answer: RequestListener, change: Record<string, unknown> = {}) {
  const way = { ...(await openLoopback(t, answer)), ...change }
  const egress = new HttpsEgress(way)
  const get = (url: string, signal = forever(), through = egress) =>
    downloadCover(through, { url, caller: 'org.example.one', rules: RULES, onContact: () => {}, signal })
  const refused = async (work: Promise<unknown>): Promise<{ code: CoverErrorCode; message: string }> => {
    const error = await work.then(
      () => new Error('It was taken.'),
      (error: unknown) => error,
    )
    if (!(error instanceof CoverError)) throw error
    if (/127\.0\.0|10\.0\.0|node:|\.ts\b|ECONN|ENOTF/.test(error.message.replace(/^https?:\/\/\S+/, '')))
      throw new Error(`This says too much: ${error.message}`)
    return error
  }
  return { way, get, refused }
}

t.test('pictures are detected by their first bytes', (t) => {
  for (const [type, bytes] of Object.entries(PICTURES)) t.equal(coverTypeOf(bytes), type)
  t.equal(coverTypeOf(latin('GIF87a')), 'image/gif')
  t.equal(coverTypeOf(box('ftyp', 'mif1', 'miaf', 'avif')), 'image/avif', 'also when it is not the major brand')
  t.equal(coverTypeOf(box('ftyp', 'avis', 'msf1')), 'image/avif', 'of several pictures')
  for (const [what, bytes] of Object.entries(NONE)) t.equal(coverTypeOf(bytes), null, what)
  t.end()
})

t.test('a cover is downloaded unchanged from the hosts of the plugin, and requests name only the plugin', async (t) => {
  const jpeg = Buffer.concat([PICTURES['image/jpeg'] as Buffer, Buffer.from(Array.from({ length: 256 }, (_, n) => n))])
  const { way, get } = await openCovers(t, (request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: 'https://img.other.example.net/cover', 'set-cookie': 'a=b' }).end()
    else if (request.url === '/packed') response.setHeader('content-encoding', 'gzip').end(zlib.gzipSync(jpeg))
    else response.setHeader('content-type', 'text/html').end(jpeg)
  })
  for (const path of ['cover.jpg', 'moved', 'packed']) {
    const { bytes, contentType } = await get(`https://covers.example.com/${path}`)
    t.ok(bytes.equals(jpeg), `${path}: byte for byte`)
    t.equal(contentType, 'image/jpeg', 'regardless of the Content-Type')
  }
  t.match(
    way.asked.map(({ method, url, host }) => [method, url, host.replace(/:\d+$/, '')]),
    [
      ['GET', '/cover.jpg', 'covers.example.com'],
      ['GET', '/moved', 'covers.example.com'],
      ['GET', '/cover', 'img.other.example.net'],
      ['GET', '/packed', 'covers.example.com'],
    ],
  )
  for (const { headers } of way.asked) {
    t.match(headers, { 'user-agent': 'Carrel (covers for the plugin org.example.one)', accept: /^image\// })
    t.same(Object.keys(headers).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
  }
})

t.test('cover URLs cannot reach internal hosts', async (t) => {
  const { way, get, refused } = await openCovers(
    t,
    (request, response) => {
      const to = decodeURIComponent((request.url ?? '').slice(2))
      if (request.url === '/loop') response.writeHead(302, { location: '/loop' }).end()
      else if (to === '') response.end(PICTURES['image/png'])
      else response.writeHead(302, { location: to }).end()
    },
    {
      resolve: async (host: string) =>
        host.startsWith('inside') ? ['127.0.0.1', '10.0.0.5'] : host.startsWith('gone') ? [] : ['127.0.0.1'],
    },
  )
  const astray = [
    ...['http://covers.example.com/', 'https://127.0.0.1/', 'https://2130706433/', 'https://[::1]/', 'https://169.254.169.254/latest/'],
    ...['https://covers.example.com:8443/', 'https://user:secret@covers.example.com/', 'file:///etc/passwd', 'ftp://covers.example.com/'],
    ...['data:image/png;base64,iVBORw0KGgo=', 'https://inside.example.com/', 'javascript:alert(1)'],
    'https://covers.example.com./',
  ]
  for (const url of astray) t.equal((await refused(get(url))).code, 'permission', url)
  t.same(way.asked, [])
  for (const [index, url] of astray.entries()) {
    // Each from another host, because requests to one host would wait for its rate limit.
    const { code } = await refused(get(`https://covers${index}.example${index}.com/?${encodeURIComponent(url)}`))
    t.equal(code, 'permission', `redirected to ${url}`)
  }
  t.equal(way.asked.length, astray.length)
  for (const url of [
    '',
    'covers.example.com/x.png',
    '//covers.example.com/',
    `https://covers.example.com/${'x'.repeat(4_000)}`,
    'https://[::1',
  ])
    t.equal((await refused(get(url))).code, 'invalid_address', url.slice(0, 40))
  t.equal((await refused(get('https://gone.example.com/'))).code, 'upstream')
  t.match(await refused(get('https://loop.example.com/loop')), { code: 'upstream', message: /redirects more than 5 times/ })
})

t.test('no name of another host is resolved, whatever its URL looks like, and each contact is told', async (t) => {
  const resolved: string[] = []
  const { way, refused } = await openCovers(
    t,
    (request, response) => response.writeHead(302, { location: decodeURIComponent((request.url ?? '').slice(2)) }).end(),
    {
      resolve: async (host: string) => {
        resolved.push(host)
        return ['127.0.0.1']
      },
    },
  )
  const rules = [
    { host: 'covers.example.org', methods: ['GET'] },
    { host: 'api.example.org', methods: ['POST'] },
    { host: '*.wide.example.org', methods: ['GET'] },
  ]
  const title = Buffer.from('The title that somebody reads').toString('hex').slice(0, 60)
  const strange = [
    ...[
      `https://${title}.collector.example/c.jpg`,
      'https://collector.example/?d=4',
      'https://sub.covers.example.org/',
      'https://example.org/',
    ],
    ...['https://covers.example.org.collector.example/', 'https://covers.example.org:8443/', 'https://a@covers.example.org/'],
    ...[
      'https://covers.example.org@collector.example/',
      'https://wide.example.org/',
      'https://api.example.org/',
      'http://covers.example.org/',
    ],
    ...[
      'https://xn--cvers-example-org.example/',
      'https://c\u043evers.example.org/',
      'https://[2001:db8::1]/',
      'https://covers.example.org./',
    ],
    ...['https:\\\\collector.example\\@covers.example.org/', 'https://8.8.8.8/', 'https://0x8080808/'],
  ]
  const told: [string, number | string][] = []
  const get = (url: string) =>
    downloadCover(new HttpsEgress(way), {
      ...{ url, rules, caller: 'org.example.one', signal: forever() },
      onContact: (host, outcome) => void told.push([host, outcome]),
    })
  for (const url of strange) t.equal((await refused(get(url))).code, 'permission', url)
  t.same(resolved, [])
  // A header of Node cannot hold other characters.
  const redirects = [...strange.map((url) => url.replace('\u043e', 'o%CC%82')), '//collector.example/x']
  for (const url of redirects)
    t.equal((await refused(get(`https://covers.example.org/?${encodeURIComponent(url)}`))).code, 'permission', `redirected to ${url}`)
  t.same([...new Set(resolved)], ['covers.example.org'])
  t.equal(told.filter(([host, outcome]) => host === 'covers.example.org' && outcome === 302).length, redirects.length)
  t.match(told.slice(0, 2), [
    ['covers.example.org', 302],
    [`${title}.collector.example`, 'permission'],
  ])
})

t.test('responses that are not covers are refused', async (t) => {
  const { get, refused, way } = await openCovers(t, (request, response) => {
    const kind = decodeURIComponent((request.url ?? '').slice(1))
    const none = NONE[kind]
    if (none) response.setHeader('content-type', 'image/png').end(none)
    else if (/^\d+$/.test(kind)) response.writeHead(Number(kind)).end(PICTURES['image/png'])
    else if (kind === 'large') response.end(Buffer.concat([PICTURES['image/png'] as Buffer, Buffer.alloc(10 * 1024 * 1024)]))
    else if (kind === 'fits') response.end(Buffer.concat([PICTURES['image/png'] as Buffer, Buffer.alloc(10 * 1024 * 1024 - 16)]))
    else if (kind === 'bomb') response.setHeader('content-encoding', 'gzip').end(zlib.gzipSync(Buffer.alloc(100 * 1024 * 1024)))
    else if (kind === 'hang-up') response.socket?.destroy()
    else response.write('\xff')
  })
  let hosts = 0
  const from = (kind: string, signal?: AbortSignal) => get(`https://covers.example${++hosts}.com/${encodeURIComponent(kind)}`, signal)
  for (const kind of Object.keys(NONE)) t.equal((await refused(from(kind))).code, 'not_a_picture', kind)
  for (const [kind, code] of [
    ...([404, 410].map((status) => [String(status), 'not_found']) as [string, CoverErrorCode][]),
    ...([206, 204, 401, 403, 500, 503, 304].map((status) => [String(status), 'upstream']) as [string, CoverErrorCode][]),
    ['large', 'too_large'],
    ['bomb', 'too_large'],
    ['hang-up', 'upstream'],
  ] as [string, CoverErrorCode][])
    t.equal((await refused(from(kind))).code, code, kind)
  const { bytes } = await from('fits')
  t.equal(bytes.length, 10 * 1024 * 1024)
  const call = new AbortController()
  const waiting = refused(from('drip', call.signal))
  while (!way.asked.some(({ url }) => url === '/drip')) await new Promise((resolve) => setTimeout(resolve, 5))
  call.abort()
  t.equal((await waiting).code, 'closed')
})

t.test('subdomains of one domain share one rate limit', async (t) => {
  const { get, way } = await openCovers(t, (_request, response) => response.end(PICTURES['image/png']))
  const at = performance.now()
  await Promise.all(Array.from({ length: 13 }, (_, n) => get(`https://n${n}.victim.example.com/`)))
  t.ok(performance.now() - at >= 400, 'ten at once, then five a second')
  t.equal(way.asked.length, 13)
})
