import t from 'tap'
import { credentialOf, type PluginAuth } from '#plugins/credentials/plugin-auth.ts'

const host = 'api.example.org'
const authOf = (type: string, bind: object, more: object = {}) =>
  ({ type, scope: 'server', bind: { host, ...bind }, ...more }) as unknown as PluginAuth
const basic = { username: 'ada', password: 'a:b c' }

t.test('credentials in requests, by kind of sign-in and place', (t) => {
  t.same(credentialOf(authOf('apiKey', { query: 'key' }), { token: 'abc' }), {
    ...{ host, place: 'query', name: 'key', value: 'abc', secrets: ['abc'] },
  })
  t.match(credentialOf(authOf('oauth2', { header: 'Authorization', format: 'Bearer {token}' }), { accessToken: '$&' }), {
    ...{ place: 'header', name: 'Authorization', value: 'Bearer $&', secrets: ['$&'] },
  })
  const encoded = Buffer.from('ada:a:b c').toString('base64')
  t.same(credentialOf(authOf('basic', { header: 'Authorization', format: 'Basic {token}' }), basic), {
    ...{ host, place: 'header', name: 'Authorization', value: `Basic ${encoded}` },
    ...{ secrets: [encoded, 'a:b c'], wholes: ['ada:a:b c'] },
  })
  t.same(credentialOf(authOf('basic', { body: 'pass', usernameField: 'login' }), basic), {
    ...{ host, place: 'body', name: 'pass', value: 'a:b c', username: { name: 'login', value: 'ada' } },
    ...{ secrets: [encoded, 'a:b c'], wholes: ['ada:a:b c'] },
  })
  const address = { bind: { hostFrom: 'site', query: 'key' } }
  t.match(credentialOf(authOf('apiKey', {}, { ...address, origin: 'http://nas.lan:8080' }), { token: 'abc' }), {
    ...{ host: 'nas.lan', origin: 'http://nas.lan:8080' },
  })
  t.equal(credentialOf(authOf('apiKey', {}, address), { token: 'abc' }), undefined, 'the configuration has no host')
  const incomplete: Record<string, string>[] = [{}, { username: 'ada' }, { password: 'x' }, { token: 'abc' }]
  for (const fields of incomplete) t.equal(credentialOf(authOf('basic', { header: 'A' }), fields), undefined, 'a field is missing')
  t.equal(credentialOf(undefined, { token: 'abc' }), undefined)
  t.end()
})
