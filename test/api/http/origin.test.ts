import t from 'tap'
import { originOf } from '#api/http/origin.ts'

t.test('a server knows where it is seen', async (t) => {
  const of = (headers: Record<string, string>, known: Partial<Parameters<typeof originOf>[1]> = {}) =>
    originOf({ headers }, { isProxy: false, isSecure: false, ...known })
  t.equal(of({ host: 'books.lan:8080' }), 'http://books.lan:8080')
  t.equal(of({ host: '[::1]:8080' }), 'http://[::1]:8080')
  t.equal(of({ host: 'books.lan' }, { isSecure: true }), 'https://books.lan')
  t.equal(of({}), null)
  const forwarded = { host: 'inner:8080', 'x-forwarded-host': 'books.example.org, middle', 'x-forwarded-proto': 'https, http' }
  t.equal(of(forwarded), 'http://inner:8080', 'strangers tell nothing')
  t.equal(of(forwarded, { isProxy: true }), 'https://books.example.org')
  for (const bad of ['a/b', 'a@b', 'a b', 'a\\b', '', 'a:99999']) t.equal(of({ host: bad }), null, `${JSON.stringify(bad)} is no host`)
  t.equal(of({ host: 'inner', 'x-forwarded-host': 'evil/..' }, { isProxy: true }), 'http://inner')
})
