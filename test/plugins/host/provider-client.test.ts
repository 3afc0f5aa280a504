import t from 'tap'
import { providerOf } from '#plugins/host/provider-client.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

const providerWith = (capabilities: object) => {
  const manifest = readManifest(Buffer.from(JSON.stringify(manifestOf({ capabilities }))))
  return providerOf({ id: 'a', key: 'org.example.echo', version: '1.0.0', state: 'enabled', matching: {}, manifest })
}

t.test('a provider lists the capabilities of its plugin', async (t) => {
  const provider = providerWith({ 'metadata.series': { methods: ['search', 'get'] }, recommendations: { methods: ['get'] } })
  t.same(provider.methods, ['metadata.series.search', 'metadata.series.get', 'recommendations.get'])
  t.match(provider, { id: 'a', key: 'org.example.echo', version: '1.0.0', state: 'enabled', matching: {}, isTestTool: false })
})

t.test('a provider names the keys under which its identifiers are stored', async (t) => {
  const sourceOf = (capabilities: object) => providerWith(capabilities).idSources.recommendations
  t.equal(sourceOf({ recommendations: { methods: ['get'] } }), 'org.example.echo')
  t.equal(sourceOf({ recommendations: { methods: ['get'], idSource: 'one' } }), 'one')
  t.equal(sourceOf({ recommendations: { methods: ['get'] }, 'metadata.series': { methods: ['get'], idSource: 'two' } }), 'two')
  t.throws(() => sourceOf({ recommendations: { methods: ['get'], idSource: 'plugin:org.example.other' } }), { code: 'invalid_value' })
  const { idSources } = providerWith({ 'metadata.series': { methods: ['get'], idSource: 'two' }, 'metadata.book': { methods: ['get'] } })
  t.match(idSources, { series: 'two', book: 'org.example.echo' })
})
