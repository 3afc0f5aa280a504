import fc from 'fast-check'
import t from 'tap'
import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'
import { readUpload } from '#api/http/upload.ts'
import { AppError } from '#core/foundation/errors.ts'
import { calmestTurns, threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { openTestServer } from '#test/support/server.ts'
import { assertEventually } from '#test/support/timed-property.ts'

const TYPE = 'multipart/form-data; boundary=xyz'
const FILE = 'Content-Disposition: form-data; name="file"; filename="a.jpg"'

/** A form of parts, each a head and a body, as RFC 7578 has it. */
const form = (...parts: [head: string, body: string | Buffer][]) =>
  Buffer.concat([
    ...parts.flatMap(([head, body]) => [Buffer.from(`--xyz\r\n${head}\r\n\r\n`), Buffer.from(body), Buffer.from('\r\n')]),
    Buffer.from('--xyz--\r\n'),
  ])

/** The code a form is refused with, or null. Anything but a refusal is thrown on. */
async function refusedFor(contentType: string | undefined, body: Buffer): Promise<string | null> {
  try {
    await readUpload(contentType, body)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return error.code
  }
}

t.test('a large file is read in turns of the event loop', onlyCost, async (t) => {
  const file = Buffer.alloc(21_000_000, 'every part of it, ')
  const body = form([FILE, file])
  const read: Uint8Array[] = []
  const { longestMs, tookMs } = await calmestTurns(async () => read.push((await readUpload(TYPE, body)).bytes))
  t.ok(read.every((bytes) => file.equals(bytes)))
  const unlucky = Buffer.alloc(7_000_001, '\r\n--xy')
  t.ok((await readUpload(TYPE, form([FILE, unlucky]))).bytes.equals(unlucky), 'with beginnings of the boundary at the ends of pieces')
  t.ok(longestMs < tookMs / 2, `at most ${Math.round(longestMs)} of ${Math.round(tookMs)} ms at a time`)
})

t.test('the one file of a form', async (t) => {
  const every = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const found = await readUpload(
    TYPE,
    form(['Content-Disposition: form-data; name="note"', 'passed over'], [`${FILE}\r\nContent-Type: image/jpeg`, every]),
  )
  t.equal(found.fileName, 'a.jpg')
  t.same(found.bytes, every, 'all bytes as they were')
  t.same(
    (await readUpload(TYPE, form([FILE, 'a\r\n--xy\r\n']))).bytes.toString(),
    'a\r\n--xy\r\n',
    'what only begins like the boundary is content',
  )
  t.same((await readUpload(TYPE, form([FILE, '']))).bytes.length, 0, 'an empty file is a file')
  t.same(
    (await readUpload(TYPE, Buffer.concat([Buffer.from('preamble\r\n'), form([FILE, 'x'])]))).bytes.toString(),
    'x',
    'what stands before is passed over',
  )
  t.same(
    (await readUpload(TYPE, Buffer.concat([form([FILE, 'x']), Buffer.from('epilogue')]))).bytes.toString(),
    'x',
    'and what stands behind',
  )
  t.same((await readUpload('Multipart/Form-Data; charset=utf-8; boundary="xyz"', form([FILE, 'x']))).bytes.toString(), 'x')
  t.same((await readUpload(TYPE, form([FILE.toLowerCase(), 'x']))).fileName, 'a.jpg', 'names of headers in any case')
  t.same((await readUpload(TYPE, form(['content-type: image/png\r\n' + FILE, 'x']))).fileName, 'a.jpg', 'headers in any order')
})

t.test('names are told as they are sent, and nobody opens them', async (t) => {
  const named = async (name: string) =>
    (await readUpload(TYPE, form([`Content-Disposition: form-data; name="file"; ${name}`, 'x']))).fileName
  t.equal(await named('filename="../../etc/passwd"'), 'passwd')
  t.equal(await named('filename="C:\\books\\a b.cbz"'), 'a b.cbz')
  t.equal(await named('filename="/"'), '')
  t.equal(await named('filename="Čapek – 本.cbl"'), 'Čapek – 本.cbl')
  t.equal(await named('filename=plain.jpg'), 'plain.jpg')
  t.equal(await named('filename="a;b.jpg"'), 'a;b.jpg')
  t.equal(await named('filename="say \\"no\\".jpg"'), 'say "no".jpg', 'with quotes in it')
  t.equal(await named('filename=""\r\nContent-Type: application/octet-stream'), '', 'as forms are sent in which nobody has chosen a file')
  t.equal(await named('filename="x.jpg"; filename*=UTF-8\'\'%C4%8Capek.jpg'), 'Čapek.jpg', 'the longer form is the better one')
  await t.rejects(named("filename*=UTF-8''%zz.jpg"), { code: 'invalid_request' }, 'which is no name where it is broken')
  t.equal(
    await refusedFor(TYPE, form(['Content-Disposition: form-data; name="filename=x"', 'x'])),
    'invalid_request',
    'a name of a field is none of a file',
  )
  t.equal(
    await refusedFor(TYPE, form(['Content-Disposition: form-data; name="a; filename=x"', 'x'])),
    'invalid_request',
    'whatever it holds',
  )
})

t.test('forms that are none are refused', async (t) => {
  const good = form([FILE, 'x'])
  for (const type of [undefined, '', 'application/json', 'image/jpeg', 'multipart/mixed; boundary=xyz']) {
    t.equal(await refusedFor(type, good), 'unsupported_media_type', String(type))
  }
  for (const type of [
    'multipart/form-data',
    'multipart/form-data; boundary=',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
    'multipart/form-data; boundary=other',
  ]) {
    t.equal(await refusedFor(type, good), 'invalid_request', type.slice(0, 60))
  }
  const bad: [name: string, body: Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['no part', Buffer.from('--xyz--\r\n')],
    ['no file', form(['Content-Disposition: form-data; name="file"', 'x'])],
    ['several files', form([FILE, 'x'], [FILE, 'y'])],
    [
      'too many parts',
      form(...Array.from({ length: 21 }, (): [string, string] => ['Content-Disposition: form-data; name="n"', '']), [FILE, 'x']),
    ],
    ['no headers', Buffer.from('--xyz\r\n\r\nx\r\n--xyz--')],
    ['no disposition', form(['Content-Type: image/jpeg', 'x'])],
    ['another disposition', form(['Content-Disposition: attachment; filename="a.jpg"', 'x'])],
    ['headers without end', form([`${FILE}\r\nX: ${'x'.repeat(16_384)}`, 'x'])],
    ['line feeds only', Buffer.from(good.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')],
    ['boundary that runs on', Buffer.from(good.toString('latin1').replace('--xyz\r\n', '--xyzz\r\n'), 'latin1')],
  ]
  for (const [name, body] of bad) t.equal(await refusedFor(TYPE, body), 'invalid_request', name)
  // The last two bytes are the line break behind the closing boundary.
  for (let length = 0; length < good.length - 2; length++) {
    t.equal(await refusedFor(TYPE, good.subarray(0, length)), 'invalid_request', `cut off after ${length} bytes`)
  }
})

t.test('any bytes are a form or refused', async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom('--xyz', '\r\n', '--', FILE, '\r\n\r\n', 'filename*=', '"', ';').map((text) => Buffer.from(text)),
  )
  await assertEventually(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const code = await refusedFor(TYPE, Buffer.concat(pieces))
      return code === null || code === 'invalid_request'
    }),
    { numRuns: 500 },
  )
})

t.test('no form takes time that grows faster than its length', onlyCost, async (t) => {
  const started = threadCpuMs()
  await refusedFor(TYPE, Buffer.from('\r\n--xy'.repeat(1_000_000)))
  await refusedFor(TYPE, form([`Content-Disposition: form-data; ${'filename'.repeat(900)}`, 'x']))
  await refusedFor(`multipart/form-data; ${' '.repeat(8_000)}boundary=xyz`, form([FILE, 'x']))
  t.ok(threadCpuMs() - started < 2_000)
})

t.test('over HTTP: size, half a body, no body', async (t) => {
  const route = endpointOf<Services>()({
    method: 'POST',
    changes: null,
    path: '/files',
    summary: 'Takes a file',
    tag: 'test',
    allow: { who: 'public' },
    bodyBytesMax: 1_000,
    upload: { description: 'any file' },
    reply: Type.Object({ fileName: Type.String(), bytes: Type.Integer() }),
    run: async (_call, { upload }) => ({ fileName: upload.fileName, bytes: upload.bytes.length }),
  })
  const server = await openTestServer(t, { routes: [route], admin: false })
  const send = async (body: Buffer, length = body.length, wait = 30_000) =>
    await server.raw(
      Buffer.concat([
        Buffer.from(`POST /files HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${TYPE}\r\nContent-Length: ${length}\r\n\r\n`),
        body,
      ]),
      { waitMs: wait },
    )
  t.match(await send(form([FILE, 'x'.repeat(800)])), /^HTTP\/1\.1 200 [\s\S]*"bytes":800/)
  t.match(await send(form([FILE, 'x'.repeat(1_000)])), /^HTTP\/1\.1 413 [\s\S]*payload_too_large/)
  t.match(await send(Buffer.alloc(0)), /^HTTP\/1\.1 400 [\s\S]*invalid_request/)
  t.match(await send(form([FILE, 'x']).subarray(0, 60)), /^HTTP\/1\.1 400 [\s\S]*is incomplete/, 'a whole body of half a form')
  const half = form([FILE, 'x'.repeat(800)])
  t.notMatch(await send(half.subarray(0, 300), half.length, 300), /^HTTP\/1\.1 2/, 'whoever hangs up half way has sent nothing')
  t.match(await send(half), /^HTTP\/1\.1 200 /, 'and nobody else is harmed')
})

t.test('a form takes no more time than it is long', onlyCost, async (t) => {
  const head = 'Content-Disposition: form-data; name="a"'
  const units = [
    'a',
    'a=',
    'a="',
    ';',
    ' ',
    '; ',
    ';a="',
    ';a="\\',
    '"',
    '\\"',
    ';a=b"',
    '\r\nContent-Disposition: ',
    '\r\nContent-Disposition:\t',
    ';filename*=',
  ]
  for (const unit of units) {
    const part = `${head};${unit.repeat((8_000 - head.length) / unit.length)}`
    const body = form(...Array.from({ length: 20 }, (): [string, string] => [part, '']))
    const begun = threadCpuMs()
    await refusedFor(TYPE, body)
    const took = threadCpuMs() - begun
    t.ok(took < 2_000, `${body.length} bytes of ${JSON.stringify(unit)}: ${took.toFixed(0)} ms`)
  }
})

t.test('the error says what is wrong with the boundary', async (t) => {
  const messageFor = async (type: string) => await readUpload(type, form([FILE, 'x'])).then(String, (error: Error) => error.message)
  t.match(await messageFor('multipart/form-data'), /has no boundary/)
  t.match(await messageFor(`multipart/form-data; boundary=${'x'.repeat(71)}`), /is longer than 70 characters/)
})
