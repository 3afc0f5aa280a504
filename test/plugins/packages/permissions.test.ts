import t from 'tap'
import { defaultOrigin, permissionGrowth, permissionsOf } from '#plugins/packages/permissions.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

/** A manifest with configured hosts, each with the rest of its member. */
const configured = (members: Record<string, object>) =>
  readManifest(
    Buffer.from(
      JSON.stringify(
        manifestOf({
          permissions: { networkFromConfig: Object.keys(members) },
          config: {
            type: 'object',
            properties: Object.fromEntries(Object.entries(members).map(([key, rest]) => [key, { type: 'string', ...rest }])),
          },
        }),
      ),
    ),
  )
const asked = (members: Record<string, object>) => permissionsOf(configured(members))

t.test('a default of a configured host is a permission that is asked for, by its origin', async (t) => {
  const one = asked({ site: { default: 'https://collect.example.net/path?q=1' }, mirror: {} })
  t.same(one.hostDefaults, { site: 'https://collect.example.net' })
  t.notOk(Object.hasOwn(asked({ site: {} }), 'hostDefaults'), 'a record without defaults stays as it was')
  t.notOk(Object.hasOwn(asked({ site: { default: '' } }), 'hostDefaults'))
  const growth = (before: object, after: object) =>
    permissionGrowth(asked(before as Record<string, object>), asked(after as Record<string, object>))
  const at = (url: string, rest: object = {}) => ({ site: { default: url, ...rest } })
  t.same(growth(at('https://a.example/x'), at('https://a.example/y')), [], 'the same host')
  t.same(growth(at('https://a.example'), { site: {} }), [], 'a default that is gone opens nothing')
  const phrase = "connects to https://b.example (the author's default), or the host that an administrator enters as site"
  for (const before of [{ site: {} }, at('https://a.example'), at('http://b.example'), at('https://b.example:8443'), { other: {} }])
    t.same(growth(before, at('https://b.example')), [phrase], JSON.stringify(before))
  t.same(growth(at('https://a.example'), at('https://b.example', { enum: ['https://b.example'] })), [phrase], 'also among given choices')
  t.same(
    growth({ site: { default: 'https://a.example' }, other: { default: 'https://b.example' } }, { site: { default: 'https://b.example' } }),
    [phrase],
    'the default of another member counts for that member',
  )
})

t.test('a default that does not name one host is refused, or opens none', async (t) => {
  const long = `https://openlibrary.org.${'a'.repeat(60)}.${'b'.repeat(20)}.example`
  const wrong = [
    'https://*.com',
    'https://%2a.example.org',
    'https://user:x@a.example',
    'https://user@a.example',
    'ftp://a.example',
    'a.example',
  ]
  for (const url of [...wrong, 'blob:https://a.example/x', long]) {
    t.equal(defaultOrigin(url), null, url)
    t.throws(
      () => configured({ site: { default: url } }),
      { code: 'invalid_value', message: /at \/config\/properties\/site\/default: consent shows/ },
      url,
    )
  }
  for (const value of [undefined, null, 7, true, ['https://a.example'], { default: 'https://a.example' }])
    t.equal(defaultOrigin(value), null)
  t.equal(defaultOrigin('https://B\u00fccher.example/'), 'https://xn--bcher-kva.example')
  const list = { type: 'array', items: { type: 'string' }, default: ['https://a.example'] }
  t.throws(() => configured({ site: list }), { message: /at \/config\/properties\/site\/type: it contains the URL of one host/ })
})
