import t from 'tap'
import { DOCS_FILES } from '#api/docs/files.ts'
import { DOCS_POLICY } from '#api/docs/page.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { get } from '#test/support/server.ts'

const paths = DOCS_FILES.map(({ name }) => (name === '' ? '/api/docs' : `/api/docs/${name}`))

t.test('a page at the address of the server says where its interfaces are', async (t) => {
  const { url, adminToken } = await openComposedServer(t)
  const put = (key: string, value: unknown) =>
    fetch(`${url}/api/v1/admin/settings/${key}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    })
  const page = async () => {
    const { status, headers, bytes } = await get(`${url}/`)
    t.match([status, headers['content-type'], headers['content-security-policy']], [200, /^text\/html/, /^default-src 'none'/])
    return String(bytes)
  }
  const before = await page()
  for (const address of ['opds/v1/catalog', 'opds/v2', 'api/openapi.json', 'health']) t.match(before, `href="${address}"`)
  t.notMatch(before, 'href="api/docs"')
  t.equal((await put('apiDocs.enabled', true)).status, 200)
  t.equal((await put('application.name', '<b>Mine</b> & "yours"')).status, 200)
  const after = await page()
  t.match(after, 'href="api/docs"')
  t.match(after, '<h1>&lt;b&gt;Mine&lt;/b&gt; &amp; &quot;yours&quot;</h1>')
  for (const [, address = ''] of after.matchAll(/href="([^"]+)"/g)) t.not((await fetch(`${url}/${address}`)).status, 404, address)
})

t.test('the documentation is there while the setting says so', async (t) => {
  const { url, adminToken } = await openComposedServer(t)
  const setting = async (value: string) => {
    const answer = await fetch(`${url}/api/v1/admin/settings/apiDocs.enabled`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    })
    return answer.status
  }
  for (const path of paths) {
    const { status, headers, bytes } = await get(url + path, { headers: { authorization: `Bearer ${adminToken}` } })
    t.match([status, JSON.parse(String(bytes)).error], [404, 'not_found'], `${path} is not there at first, not even for administrators`)
    t.notOk(headers.etag)
  }
  t.equal(await setting('yes'), 422)
  t.equal(await setting('true'), 200)

  const etags = new Map<string, string>()
  for (const path of paths) {
    const { status, headers, bytes } = await get(url + path, { headers: { 'accept-encoding': 'identity' } })
    t.match([status, bytes.length > 0], [200, true], path)
    t.match(headers, { 'content-security-policy': DOCS_POLICY, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' }, path)
    etags.set(path, String(headers.etag))
    const packed = await get(url + path, { headers: { 'accept-encoding': 'gzip' } })
    t.match([packed.status, packed.headers['content-encoding']], [200, 'gzip'])
    const again = await get(url + path, { headers: { 'if-none-match': String(headers.etag), 'accept-encoding': 'identity' } })
    t.match([again.status, again.bytes.length], [304, 0], `${path} is not sent to who has it`)
    const head = await get(url + path, { method: 'HEAD' })
    t.match([head.status, head.bytes.length], [200, 0])
  }

  t.equal(await setting('false'), 200)
  for (const path of paths) {
    const { status } = await get(url + path, { headers: { 'if-none-match': etags.get(path) ?? '' } })
    t.equal(status, 404, `${path} is gone for who has it, too`)
  }
})
