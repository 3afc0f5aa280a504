import t from 'tap'
import { mediaTypeOf } from '#workers/formats/epub/media-types.ts'

t.test('files of books have media types that books need', async (t) => {
  const other = 'application/octet-stream'
  const cases: [listed: string, path: string, served: string][] = [
    ['application/xhtml+xml', 'a', 'application/xhtml+xml'],
    ['font/woff2', 'a.bin', 'font/woff2'],
    ['image/jpg', 'a.JPG', 'image/jpeg'],
    ['', 'a.css', 'text/css'],
    ['text/css; charset=utf-8', 'a.css', 'text/css'],
    ['text/javascript', 'a.js', other],
    ['application/javascript', 'a', other],
    ['application/x-msdownload', 'a.exe', other],
    ['application/x-shockwave-flash', 'a.swf', other],
    ['application/pdf', 'a.pdf', other],
    ['application/wasm', 'a.wasm', other],
    ['application/manifest+json', 'a.webmanifest', other],
    ['multipart/x-mixed-replace', 'a', other],
    ['message/rfc822', 'a.mht', other],
    ['application/hta', 'a.hta', other],
    ['', 'a.constructor', other],
    ['constructor', 'a.__proto__', other],
  ]
  for (const [listed, path, served] of cases) t.equal(mediaTypeOf(listed, path), served, `${listed} ${path}`)
})
