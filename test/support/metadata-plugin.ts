/** A plugin that finds any title, returns a publisher for every record, and recommends one series. It sends no requests. */
export const METADATA_PLUGIN = `
const search = ({ query }) => ({ results: [{ externalId: '1', title: query, relevance: 1 }] })
const get = ({ externalId }) => ({ externalId, publisher: 'Known' })
export default {
  metadata: { series: { search, get }, book: { search, get } },
  recommendations: { get: () => ({ recommendations: [{ externalId: '1', title: 'A recommendation', score: 0.5, reason: 'So.' }] }) },
}`

const METADATA = { methods: ['search', 'get'], idSource: 'known' }

/** Its manifest, as changes to the default manifest of tests. */
export const METADATA_PLUGIN_MANIFEST = {
  capabilities: {
    'metadata.series': METADATA,
    'metadata.book': METADATA,
    recommendations: { methods: ['get'], idSource: 'known' },
  },
}
