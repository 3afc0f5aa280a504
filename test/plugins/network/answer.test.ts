import zlib from 'node:zlib'
import t from 'tap'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

t.test('responses that are larger than they look, or never end, are refused', async (t) => {
  const zeros = Buffer.alloc(100 * 1024 * 1024)
  const bombs: Record<string, Buffer> = {
    gzip: zlib.gzipSync(zeros, { level: 9 }),
    br: zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
    // Not supported, so it is not decompressed either.
    zstd: zlib.zstdCompressSync(zeros),
    deflate: zlib.deflateSync(zeros),
  }
  const emptyMembers = Buffer.concat(Array.from({ length: 5_000 }, () => zlib.gzipSync('')))
  const { fetch, closed } = await openTestEgress(t, (request, response) => {
    const kind = (request.url ?? '').slice(1)
    const flood = (chunk: Buffer | string) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.on('drain', more)
      more()
    }
    if (Object.hasOwn(bombs, kind)) response.setHeader('content-encoding', kind).end(bombs[kind])
    else if (kind === 'nested') response.setHeader('content-encoding', 'gzip, gzip').end(zlib.gzipSync(bombs['gzip'] as Buffer))
    else if (kind === 'twice') response.writeHead(200, ['content-encoding', 'gzip', 'content-encoding', 'br']).end(bombs['gzip'])
    else if (kind === '__proto__') response.setHeader('content-encoding', kind).end('x')
    else if (kind === 'rubbish') response.setHeader('content-encoding', 'gzip').end('no gzip at all')
    else if (kind === 'cut') response.setHeader('content-encoding', 'br').end(zlib.brotliCompressSync('x'.repeat(10_000)).subarray(0, 8))
    else if (kind === 'endless') flood(Buffer.alloc(64 * 1024, 'x'))
    else if (kind === 'nothing') flood(response.setHeader('content-encoding', 'gzip') && emptyMembers)
    else if (kind === 'drip') setInterval(() => response.write('x'), 20).unref()
    else if (kind === 'packed-drip') {
      // Bytes that decompress to nothing, one at a time.
      response.writeHead(200, { 'content-encoding': 'gzip' })
      let at = 0
      setInterval(() => response.write(emptyMembers.subarray(at, ++at)), 20).unref()
    } else if (kind === 'extensions' || kind === 'trailers') {
      response.socket?.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${kind === 'trailers' ? '1\r\nx\r\n0\r\n' : '1;'}`)
      const { socket } = response
      const more = () => {
        while (socket && !socket.destroyed && socket.write(kind === 'trailers' ? 'x-x: y\r\n'.repeat(1_000) : 'x'.repeat(8_192)));
      }
      socket?.on('drain', more).on('error', () => {})
      more()
    } else if (kind === 'silent') return
    else if (kind === 'headers') response.socket?.end(`HTTP/1.1 200 OK\r\n${'x-x: y\r\n'.repeat(1_000_000)}\r\n`)
    else if (kind === 'header') response.socket?.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)
    else if (kind === 'no-http') response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n')
    else if (kind === 'both') response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n')
    else if (kind === 'hang-up') response.socket?.destroy()
    else if (kind === 'short') response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc')
    else if (kind === 'upgrade') response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
    else if (kind === 'hints') {
      const hint = setInterval(() => response.socket?.write('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'), 5)
      response.socket?.on('close', () => clearInterval(hint))
    } else if (kind === 'fits') response.end('x'.repeat(5 * 1024 * 1024))
    else if (kind === 'packed') response.setHeader('content-encoding', 'BR').end(zlib.brotliCompressSync('packed'))
    else if (kind === 'members')
      response.setHeader('content-encoding', 'x-gzip').end(Buffer.concat([zlib.gzipSync('a'), zlib.gzipSync('b')]))
    else if (kind === 'empty') response.writeHead(204, { 'content-encoding': 'gzip' }).end()
    else response.setHeader('content-encoding', 'gzip').end(request.method === 'HEAD' ? undefined : zlib.gzipSync('x'))
  })
  // Each host has its own rate limit.
  let hosts = 0
  const get = (kind: string, more: Record<string, unknown> = {}) => {
    hosts += 1
    const host = `api${hosts}.example.org`
    return fetch({ url: `https://${host}/${kind}`, ...more }, { rules: [{ host, methods: ['GET', 'HEAD'] }] })
  }
  const before = process.memoryUsage().rss
  for (const [kind, own] of [
    ['gzip', 'too_large'],
    ['br', 'too_large'],
    ['endless', 'too_large'],
    ['nothing', 'too_large'],
    ...[
      'nested',
      'twice',
      'zstd',
      'deflate',
      '__proto__',
      'rubbish',
      'cut',
      'headers',
      'header',
      'no-http',
      'both',
      'hang-up',
      'short',
      'upgrade',
      'extensions',
      'trailers',
    ].map((kind) => [kind, 'upstream'] as const),
  ] as const) {
    const { own: found, message } = await refusal(get(kind, { timeoutMs: 30_000 }))
    t.equal(found, own, `${kind}: ${message}`)
  }
  t.ok(process.memoryUsage().rss - before < 150 * 1024 * 1024, 'and no memory')
  for (const kind of ['drip', 'packed-drip', 'silent', 'hints']) {
    const at = performance.now()
    t.equal((await refusal(get(kind, { timeoutMs: 300 }))).own, 'timeout', kind)
    t.ok(performance.now() - at < 10_000)
  }
  t.equal((await get('fits')).body.length, 5 * 1024 * 1024)
  t.equal((await get('packed')).body, 'packed')
  t.equal((await get('members')).body, 'ab')
  t.match(await get('empty'), { status: 204, body: '' })
  t.match(await get('', { method: 'HEAD' }), { status: 200, body: '' })
  t.ok(await closed(), 'no connection is left open')
})

t.test('a request is retried once after Retry-After, if there is time', async (t) => {
  const { way, fetch, closed } = await openTestEgress(t, (request, response) => {
    const [, path, status, after] = /^\/(\w+)\/(\d+)\/(.*)$/.exec(request.url ?? '') ?? []
    const times = way.asked.filter(({ url }) => url === request.url).length
    if (path === 'once' && times > 1) response.end('now')
    else {
      const ms = /^date-(\d+)$/.exec(after ?? '')?.[1]
      const wait = ms === undefined ? decodeURIComponent(after ?? '') : new Date(Date.now() + Number(ms)).toUTCString()
      if (wait !== '') response.setHeader('retry-after', wait)
      response.writeHead(Number(status)).end('busy')
    }
  })
  const get = async (path: string, more: Record<string, unknown> = {}) => {
    way.asked.length = 0
    const at = performance.now()
    const { status, body, retryAfterSeconds } = await new HttpsEgress(way).fetch(
      { url: `https://api.example.org/${path}`, ...more },
      POLICY,
      forever(),
    )
    return { status, body, retryAfterSeconds, times: way.asked.length, waited: performance.now() - at }
  }
  const once = await get('once/429/1')
  t.match(once, { status: 200, body: 'now', times: 2 })
  t.ok(once.waited >= 990)
  t.match(await get('once/503/0', { method: 'POST', body: 'x' }), { status: 200, times: 2 })
  t.match(await get('once/429/date-1500'), { status: 200, times: 2 })
  t.match(await get('always/429/0'), { status: 429, body: 'busy', times: 2 }, 'once')
  for (const [path, retryAfterSeconds] of [
    ['always/429/', undefined],
    ['always/429/60', 60],
    ['always/503/120', 120],
    ['always/429/999999999', 86_400],
    ['always/429/soon', undefined],
    ['always/429/-1x', undefined],
    ['always/429/99999999999', undefined],
    ['always/500/1', undefined],
    ['always/200/1', undefined],
  ] as const) {
    const found = await get(path)
    t.equal(found.times, 1, path)
    t.equal(found.retryAfterSeconds, retryAfterSeconds, path)
  }
  t.match(await get('once/429/10', { timeoutMs: 10_200 }), { status: 429, times: 1, retryAfterSeconds: 10 }, 'a retry would be too late')
  const byClock = await get('always/503/date-30000')
  t.match(byClock, { status: 503, times: 1 })
  // On a busy machine some seconds of them have passed.
  t.ok([25, 26, 27, 28, 29, 30].includes(byClock.retryAfterSeconds ?? 0), 'dates have no fractions')
  await fetch('https://api.example.org/once/429/0')
  t.ok(await closed())
})
