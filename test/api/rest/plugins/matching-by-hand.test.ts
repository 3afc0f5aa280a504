import t from 'tap'
import { openMatchingServer } from '#test/support/matching-server.ts'

t.setTimeout(240_000)

interface Preview {
  fields: { field: string; status: string; reason: string | null; currentValue: unknown; proposedValue: unknown }[]
}
interface Applied {
  appliedFields: string[]
  applicationId: string | null
}
interface Named {
  id: string
  name: string
}

/** A provider whose answers say what the identifier asks for. */
const PROVIDER = `
const get = ({ externalId }) => ({ externalId, title: 'Berserk', externalUrl: 'https://api.example.org/' + externalId,
  genres: externalId === 'first' ? ['Fantasy', 'Action'] : ['Action', 'Horror'],
  tags: externalId === 'first' ? ['Swords', 'Dark'] : ['Dark', 'Demons'],
  externalIds: { other: externalId },
  externalLinks: [{ label: 'Wiki', url: 'https://wiki.example.org/' + externalId }, { label: 'Shop', url: 'https://shop.example.org/' + externalId }],
})
const search = () => ({ results: [] })
export default { metadata: { series: { search, get }, book: { search, get } } }`
const METADATA = { methods: ['search', 'get'], idSource: 'byhand' }
const MANIFEST = {
  id: 'org.example.byhand',
  capabilities: { 'metadata.series': METADATA, 'metadata.book': METADATA },
  permissions: { network: [{ host: '*.example.org', reason: 'The service, and links to others' }] },
}

for (const kind of ['books', 'series'] as const) {
  t.test(`machines add and take away only what machines gave to ${kind}`, async (t) => {
    const { ask, add, install } = await openMatchingServer(t)
    const pluginId = await install(PROVIDER, MANIFEST)
    const { seriesId, bookId } = await add('Berserk')
    const id = kind === 'books' ? bookId : seriesId
    const path = `${kind}/${id}`
    const idsName = kind === 'books' ? 'bookIds' : 'seriesIds'
    const bulk = (taxonomy: string, change: object) => ask('POST', `${kind}/bulk/${taxonomy}`, { [idsName]: [id], ...change })
    const full = async () => (await ask<Record<string, Named[]>>('GET', `${path}?full=true`)).json
    const namesOf = async (taxonomy: string) => (await full())[taxonomy]?.map(({ name }) => name)
    const linksOf = async () => {
      const { links } = (await ask<{ links: { source: string; url: string }[] }>('GET', `${path}/external-links`)).json
      return Object.fromEntries(links.map(({ source, url }) => [source, url]))
    }
    const otherId = async () => {
      const { externalIds } = (await ask<{ externalIds: { source: string; externalId: string }[] }>('GET', `${path}/external-ids`)).json
      return externalIds.find(({ source }) => source === 'other')?.externalId
    }
    const preview = async (externalId: string) => {
      const { json } = await ask<Preview>('POST', `${path}/metadata/preview`, { pluginId, externalId })
      return new Map(json.fields.map((field) => [field.field, field]))
    }
    const apply = async (externalId: string) => (await ask<Applied>('POST', `${path}/metadata/apply`, { pluginId, externalId })).json
    const unlock = () => ask('PUT', `${path}/metadata/locks`, kind === 'books' ? { genreLock: false } : { genres: false, tags: false })

    t.equal((await bulk('tags', { add: ['Mine', 'dark'] })).status, 200)
    t.equal((await bulk('genres', { add: ['My genre'] })).status, 200)
    t.match(await ask('POST', `${path}/external-links`, { source: 'Wiki', url: 'https://mine.example.org/' }), { status: /20[01]/ })
    t.equal((await unlock()).status, 200)

    const first = await preview('first')
    t.match(first.get('tags'), { status: 'will_apply', currentValue: ['dark', 'Mine'], proposedValue: ['dark', 'Mine', 'Swords'] })
    t.match(first.get('externalLinks'), {
      status: 'will_apply',
      proposedValue: { Wiki: 'https://mine.example.org/', Shop: 'https://shop.example.org/first' },
    })
    const applied = await apply('first')
    t.same(await namesOf('tags'), ['dark', 'Mine', 'Swords'], 'as the preview said')
    t.same(await namesOf('genres'), ['Action', 'Fantasy', 'My genre'])
    t.same(await linksOf(), { Wiki: 'https://mine.example.org/', Shop: 'https://shop.example.org/first' })
    t.equal(await otherId(), 'first')

    // What the plugin gave and a person gives too is the person's.
    t.equal((await bulk('tags', { add: ['Swords'] })).status, 200)
    t.match(await ask('POST', `${path}/external-ids`, { source: 'other', externalId: 'mine' }), { status: /20[01]/ })
    await unlock()
    const second = await preview('second')
    t.match(second.get('tags')?.proposedValue, ['dark', 'Demons', 'Mine', 'Swords'])
    const again = await apply('second')
    t.same(await namesOf('tags'), ['dark', 'Demons', 'Mine', 'Swords'], 'what the person confirmed stays')
    t.same(await namesOf('genres'), ['Action', 'Horror', 'My genre'], 'what the plugin gave before goes')
    t.same(await linksOf(), { Wiki: 'https://mine.example.org/', Shop: 'https://shop.example.org/second' })
    t.equal(await otherId(), 'mine')

    const settled = await preview('second')
    t.match(settled.get('tags'), { status: 'unchanged', reason: null })
    t.match(settled.get('externalLinks'), { status: 'locked', reason: /a user has entered/i }, 'one link stands against it, and it says so')

    // Undoing takes nothing from the person either.
    const undo = (applicationId: string | null) => ask('POST', `${path}/metadata/applications/${applicationId}/undo`)
    t.equal((await undo(again.applicationId)).status, 200)
    t.same(await namesOf('tags'), ['dark', 'Mine', 'Swords'])
    t.same(await namesOf('genres'), ['Action', 'Fantasy', 'My genre'])
    t.equal((await undo(applied.applicationId)).status, 200)
    t.same(await namesOf('tags'), ['dark', 'Mine', 'Swords'])
    t.same(await namesOf('genres'), ['My genre'])
    t.same(await linksOf(), { Wiki: 'https://mine.example.org/' })
    t.equal(await otherId(), 'mine')
  })
}

t.test('a tag that a person took from a book does not come back by itself', async (t) => {
  const { ask, add, install } = await openMatchingServer(t)
  const pluginId = await install(PROVIDER, MANIFEST)
  const { bookId } = await add('Berserk')
  const from = { pluginId, externalId: 'first' }
  const path = `books/${bookId}/metadata`
  const tags = async () => (await ask<{ tags: Named[] }>('GET', `books/${bookId}?full=true`)).json.tags.map(({ name }) => name)
  const change = (change: object) => ask('POST', 'books/bulk/tags', { bookIds: [bookId], ...change })
  await ask('POST', `${path}/apply`, from)
  t.same(await tags(), ['Dark', 'Swords'])
  await change({ remove: ['swords'] })
  const { fields } = (await ask<Preview>('POST', `${path}/preview`, from)).json
  t.match(
    fields.find(({ field }) => field === 'tags'),
    { status: 'locked', proposedValue: ['Dark'], reason: /a user has entered/i },
  )
  await ask('POST', `${path}/apply`, from)
  t.same(await tags(), ['Dark'])
  await change({ add: ['Swords'] })
  await change({ remove: ['Dark'] })
  await ask('POST', `${path}/apply`, from)
  t.same(await tags(), ['Swords'], 'until the person gives it again')
})
