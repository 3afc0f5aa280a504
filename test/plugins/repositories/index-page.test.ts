import fc from 'fast-check'
import t from 'tap'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { renderIndexPage } from '#plugins/repositories/index-page.ts'
import { entryOf, indexOf, newKey, REPOSITORY_URL } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const publicKey = publicKeyText(newKey())
const entry = entryOf([pluginOf('export default 2', { version: '1.1.0' }), pluginOf('export default 1')])

t.test('the page shows the plugins, the URL and the key', async (t) => {
  const page = renderIndexPage({ ...indexOf({ plugins: [entry] }), keys: [publicKey] })
  for (const text of [
    '<h1>Plugins of example.org</h1>',
    `href="${REPOSITORY_URL}"`,
    fingerprintOf(publicKey),
    '<h2>Echo</h2>',
    'org.example.echo',
  ])
    t.ok(page.includes(text), text)
  t.match(page, /<strong>1\.1\.0<\/strong>[\s\S]*<strong>1\.0\.0<\/strong>/, 'the newest first')
  t.match(page, /Talks to api\.example\.org/)
  const talking = (permissions: Record<string, unknown>) => {
    const bytes = pluginOf('export default 1', {
      permissions,
      config: { type: 'object', properties: { site: { type: 'string', default: 'https://collector.example' } } },
    })
    const [, talks] =
      /\. (Talks to [^<]*)\.\n/.exec(renderIndexPage({ ...indexOf({ plugins: [entryOf([bytes])] }), keys: [publicKey] })) ?? []
    return talks
  }
  const entered = 'the host in its setting site, which an administrator enters or its author proposes'
  t.equal(talking({ networkFromConfig: ['site'] }), `Talks to ${entered}`, 'a host that its configuration or its author names')
  const network = [{ host: 'api.example.org', reason: 'The service' }]
  t.equal(talking({ network, networkFromConfig: ['site'] }), `Talks to api.example.org; and to ${entered}`)
  t.equal(talking({}), 'Talks to no host')
  const noted = { ...entry, versions: entry.versions.map((one) => ({ ...one, yanked: 'It broke', advisory: 'Update' })) }
  t.match(renderIndexPage({ ...indexOf({ plugins: [noted] }), keys: [publicKey] }), /Withdrawn: It broke\. Update\./)
  t.equal(
    page,
    renderIndexPage({ ...indexOf({ plugins: [entry] }), keys: [publicKey], ...timesOf(page) }),
    'the same page for the same index',
  )
})

t.test('the page shows the icon, what the newest version asks for, and how to add it', async (t) => {
  const shown = new Map([[entry.id, { icon: 'data:image/png;base64,AAAA', asks: ['  is org.example.echo', '    > <b>words</b>'] }]])
  const page = renderIndexPage({ ...indexOf({ plugins: [entry] }), keys: [publicKey] }, shown)
  t.match(page, '<img alt="" src="data:image/png;base64,AAAA">')
  t.match(page, /img-src data:/, 'and the policy allows it')
  t.match(page, '<pre>  is org.example.echo\n    &gt; &lt;b&gt;words&lt;/b&gt;</pre>')
  t.match(page, `npm run carrel -- plugin repository add ${REPOSITORY_URL}`)
  t.match(page, `npm run carrel -- plugin repository install ${REPOSITORY_URL} ${entry.id}`)
  const link = /href="(carrel:[^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
  t.same(Object.fromEntries(new URL(link).searchParams), {
    repository: REPOSITORY_URL,
    plugin: entry.id,
    fingerprint: fingerprintOf(publicKey),
  })
  const odd = renderIndexPage({ ...indexOf({ plugins: [], url: "https://example.org/it's/" }), keys: [publicKey] })
  t.match(odd, 'add &#39;https://example.org/it&#39;\\&#39;&#39;s/&#39;', 'a command that a shell reads as it is meant')
})

/** Two indexes of these tests differ only in the time of issue. */
function timesOf(page: string): { issuedAt: string; expires: string } {
  const [issuedAt = '', expires = ''] = [...page.matchAll(/<time datetime="([^"]+)"/g)].map(([, time]) => time as string)
  return { issuedAt, expires }
}

t.test('a publisher’s text never becomes markup', async (t) => {
  const nasty = '<script>alert(1)</script>"\' onload=x <img src=https://evil.example.org/x> &amp; javascript:alert(1)'
  const page = renderIndexPage({
    ...indexOf({
      name: nasty,
      url: `https://example.org/"><script>/`,
      plugins: [
        {
          ...entry,
          ...{ id: nasty, name: nasty, summary: nasty, author: { name: nasty } },
          // Only one version, because invalid versions cannot be sorted, and no valid index contains one.
          versions: entry.versions.slice(0, 1).map((one) => ({
            ...one,
            version: nasty,
            pluginApi: nasty,
            yanked: nasty,
            advisory: nasty,
            sha256: nasty,
            releasedAt: nasty,
          })),
        },
      ],
    }),
    keys: [publicKey],
  })
  t.notMatch(page, /<script|<img|<[a-z]+[^>]*\son/i)
  t.match(page, /default-src &#39;none&#39;/, 'and the policy would block scripts')
  t.notMatch(page, /unsafe-eval|script-src/)
})

t.test('with any index, the page has only its own tags', async () => {
  const tags = (page: string) => page.match(/<\/?[a-z0-9]+/gi)?.length
  const text = fc.oneof(fc.string(), fc.constantFrom('<', '>', '"', "'", '&', '</h1>', '<!--', ']]>', '</style>'))
  const of = (word: string) =>
    renderIndexPage({
      ...indexOf({ name: word, plugins: [{ ...entry, name: word, summary: word, author: { name: word } }] }),
      keys: [publicKey],
    })
  const plain = tags(of('plain'))
  assertInTime(fc.property(text, (word) => tags(of(word)) === plain && !of(word).includes('<!--')))
})
