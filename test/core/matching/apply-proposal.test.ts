import t from 'tap'
import { openMatchingServer } from '#test/support/matching-server.ts'
import { makePicture } from '#test/support/pictures.ts'
import { openLoopback } from '#test/support/plugins.ts'

t.setTimeout(240_000)

interface Shown {
  fields: { field: string; status: string; reason: string | null; proposedValue: unknown }[]
}
interface Applied {
  appliedFields: string[]
  skippedFields: { field: string; reason: string }[]
  applicationId: string
  dryRunReport: { changes: { field: string }[] } | null
}
interface WithSources {
  titleSort: string | null
  sources: Record<string, string>
  sourcePlugins: Record<string, string>
}

const METADATA = { methods: ['get'] }
const MANIFEST = {
  capabilities: { 'metadata.series': METADATA, 'metadata.book': METADATA },
  permissions: { network: [{ host: 'covers.example.org', reason: 'Covers' }] },
}
const giving = (work: object) => {
  const get = `get: ({ externalId }) => ({ externalId, ...${JSON.stringify(work)} })`
  return `export default { metadata: { series: { ${get} }, book: { ${get} } } }`
}
const coverOf = ({ fields }: Shown) => fields.find(({ field }) => field === 'cover')
const willApply = ({ fields }: Shown) => fields.filter(({ status }) => status === 'will_apply').map(({ field }) => field)

t.test('a cover that applying refuses is not previewed as applied, with the same reason', async (t) => {
  const { ask, add, install } = await openMatchingServer(t, {
    answer: (request, response) => {
      const statuses: Record<string, number> = { '/gone.jpg': 404, '/busy.jpg': 503 }
      response.writeHead(statuses[request.url ?? ''] ?? 200)
      response.end('<svg/>')
    },
  })
  const { seriesId } = await add('Berserk')
  const path = `series/${seriesId}/metadata`
  const REASONS: Record<string, [string, string | null]> = {
    'https://covers.example.org/1.svg': [
      'not_provided',
      'The response of covers.example.org is not a supported picture (JPEG, PNG, WebP, GIF or AVIF).',
    ],
    'https://covers.example.org/gone.jpg': ['not_provided', 'covers.example.org has no such picture.'],
    'http://covers.example.org/1.jpg': ['not_provided', 'The provider has no value for it.'],
    'https://covers.example.org/busy.jpg': ['will_apply', null],
  }
  for (const [coverUrl, [status, reason]] of Object.entries(REASONS)) {
    const key = `org.example.c${Object.keys(REASONS).indexOf(coverUrl)}`
    const pluginId = await install(giving({ title: 'Berserk', coverUrl }), { ...MANIFEST, id: key })
    const from = { pluginId, externalId: 'b1' }
    const preview = (await ask<Shown>('POST', `${path}/preview`, from)).json
    t.match(coverOf(preview), { status, reason }, coverUrl)
    const dry = (await ask<Applied>('POST', `${path}/apply`, { ...from, dryRun: true })).json
    t.same(dry.appliedFields, willApply(preview), coverUrl)
    if (status === 'will_apply') continue
    const { json: applied } = await ask<Applied>('POST', `${path}/apply`, { ...from, fields: ['cover'] })
    t.match(
      applied.skippedFields.find(({ field }) => field === 'cover'),
      { reason },
      coverUrl,
    )
  }
})

t.test('preview, apply, applications and undo name the same fields, and sources name the plugin of each', async (t) => {
  const { ask, add, install } = await openMatchingServer(t)
  const give = {
    title: 'The Sandman',
    summary: 'Dreams.',
    year: 1989,
    authors: [{ name: 'Neil Gaiman', role: 'writer' }],
    genres: ['Fantasy'],
  }
  const pluginId = await install(giving(give), { ...MANIFEST, id: 'org.example.dreams' })
  const same = async (path: string) => {
    const from = { pluginId, externalId: 'b1' }
    const previewed = willApply((await ask<Shown>('POST', `${path}/preview`, from)).json)
    const { json: applied } = await ask<Applied>('POST', `${path}/apply`, from)
    t.same(applied.appliedFields, previewed, path)
    const shown = (await ask<WithSources>('GET', `${path}?sources=true`)).json
    const { applications } = (await ask<{ applications: { fields: string[] }[] }>('GET', `${path}/applications`)).json
    t.same(applications[0]?.fields.toSorted(), previewed.toSorted(), path)
    const undone = await ask<{ undoneFields: string[]; message: string }>('POST', `${path}/applications/${applied.applicationId}/undo`)
    t.same(undone.json.undoneFields.toSorted(), previewed.toSorted(), path)
    return { shown, previewed }
  }

  const { seriesId: confirmed, bookId } = await add('The Sandman')
  const equal = await same(`series/${confirmed}/metadata`)
  t.notOk(equal.previewed.includes('title'), 'the title was the same')
  t.match(equal.shown.sources, { title: 'file_name', summary: 'plugin', year: 'plugin', authors: 'plugin' })
  t.match(equal.shown.sourcePlugins, {
    summary: 'org.example.dreams',
    year: 'org.example.dreams',
    authors: 'org.example.dreams',
    title: undefined,
  })

  const { seriesId: renamed } = await add('sandman (1989)')
  const { shown, previewed } = await same(`series/${renamed}/metadata`)
  t.ok(previewed.includes('title') && previewed.includes('titleSort'), 'the sort title follows')
  t.match(shown, { titleSort: 'Sandman, The', sources: { title: 'plugin' }, sourcePlugins: { title: 'org.example.dreams' } })

  const book = await same(`books/${bookId}/metadata`)
  t.match(book.shown, { sources: { summary: 'plugin' }, sourcePlugins: { summary: 'org.example.dreams' } })
  t.notOk('sourcePlugins' in (await ask('GET', `books/${bookId}/metadata`)).json, 'only when asked for')
})

t.test('the plugin of a source is the one whose value stands, also after an undo', async (t) => {
  const { ask, add, install, database } = await openMatchingServer(t)
  const { seriesId } = await add('Berserk')
  const path = `series/${seriesId}/metadata`
  const plugins = []
  for (const [id, summary] of [
    ['org.example.one', 'First.'],
    ['org.example.two', 'Second.'],
  ] as const)
    plugins.push(await install(giving({ title: 'Berserk', summary }), { ...MANIFEST, id }))
  const apply = async (pluginId: unknown) => (await ask<Applied>('POST', `${path}/apply`, { pluginId, externalId: 'b1' })).json
  const giver = async () => (await ask<WithSources>('GET', `${path}?sources=true`)).json.sourcePlugins.summary
  await apply(plugins[0])
  const second = await apply(plugins[1])
  t.equal(await giver(), 'org.example.two')
  await ask('POST', `${path}/applications/${second.applicationId}/undo`)
  t.equal(await giver(), 'org.example.one')
  await database('metadata_applications').delete()
  t.match((await ask<WithSources>('GET', `${path}?sources=true`)).json, { sources: { summary: 'plugin' }, sourcePlugins: {} })
})

t.test('a cover of a local service that the server allows is previewed and applied, over plain http', async (t) => {
  const picture = await makePicture({ width: 60, height: 90 })
  const { port } = await openLoopback(t, (_request, response) => response.end(picture))
  const { ask, add, install } = await openMatchingServer(t, { local: new Set([`localhost:${port}`]) })
  const { seriesId } = await add('Berserk')
  const path = `series/${seriesId}/metadata`
  const pluginId = await install(giving({ title: 'Berserk', coverUrl: `http://localhost:${port}/1.png` }), {
    ...MANIFEST,
    ...{ id: 'org.example.local', permissions: { networkFromConfig: ['site'] } },
    config: { type: 'object', properties: { site: { type: 'string', default: `http://localhost:${port}` } } },
  })
  const from = { pluginId, externalId: 'b1' }
  t.match(coverOf((await ask<Shown>('POST', `${path}/preview`, from)).json), { status: 'will_apply', reason: null })
  t.ok((await ask<Applied>('POST', `${path}/apply`, from)).json.appliedFields.includes('cover'))
})
