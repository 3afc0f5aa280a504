import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import t from 'tap'
import { xmlText } from '#api/opds/xml.ts'
import { openComposedServer } from '#test/support/composed-server.ts'
import { someOf } from '#test/support/lane-size.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { ATOM, withXml } from '#test/support/opds.ts'
import { complaintsOf, walkCatalog } from '#test/support/opds-walk.ts'
import { ADMIN, get } from '#test/support/server.ts'

t.setTimeout(600_000)

const CONTROLS = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).filter((one) => /\p{Cc}/u.test(one) && one !== '\0')

/** Names as strangers write them; PostgreSQL keeps all of them but the halves of surrogate pairs, which the driver replaces. */
const ALL_NAMES: Record<string, string> = {
  markup: `<b>"Tom" & 'Jerry'</b> &amp; &#0; &#x1F; <!-- --> <?php ?>`,
  'end of a section': ']]> <![CDATA[ x ]]>',
  'control characters': `a${CONTROLS.join('')}b`,
  'nothing but control characters': '\u0007\u001b\u0085',
  'half a surrogate pair': 'a\ud800b\udc00c',
  'non-characters': 'a\ufffe\uffff\ufdd0\u{1ffff}b',
  'right to left': '\u202eשלום \u2067עולם\u2069 hello\u200f\u202c',
  'marks upon marks': `Z${'\u0315\u0300'.repeat(100)}`,
  pictures: '👩‍👩‍👧‍👦🐉'.repeat(40),
  templates: '{searchTerms}{?query}{pageNumber}{maxWidth}%7B',
  'an address': '../../etc/passwd?page=2#x %2e%2e%2f //example.org/ \\',
  blanks: '\t \r\n \u00a0\u2028\u2029\ufeff',
}
const NAMES = Object.fromEntries(someOf('names', Object.entries(ALL_NAMES), 3))
/** Index entries hold 2,704 bytes, so what is as long as this repeats itself. */
const LONG = 'ever and again '.repeat(667).slice(0, 10_000)

async function plant(database: Knex): Promise<{ titles: string[] }> {
  const { id: userId } = await database('users').first('id')
  const titles = [...Object.values(NAMES), LONG]
  // Each is a choice in every list, so a few stand for all.
  const named = [NAMES['markup'], NAMES['control characters'], LONG] as string[]
  const libraries = await Promise.all(named.map((name) => addLibrary(database, { name })))
  for (const [index, title] of titles.entries()) {
    // What a list is narrowed down by is shorter: so are the names of genres, and of publishers in feeds.
    const name = title.slice(0, 100)
    const library_id = libraries[index % libraries.length] as string
    const series_id = await addSeries(database, { library_id, title, path: `series-${index}` })
    const place = { library_id, series_id, path: `/shelf/${randomUUID()}`, file_name: `${index}.cbz` }
    const book_id = await addBook(database, { ...place, title, page_source: 'zip', page_count: 3 })
    const people = ['writer', 'penciller', 'editor', 'cover_artist'].map((role) => ({ name: title.toWellFormed(), role, sortName: name }))
    await database('book_metadata').insert({
      ...{ book_id, subtitle: title, summary: title, publisher: title, language_iso: name, isbns: title },
      authors: JSON.stringify(people.map((person) => ({ ...person, sortName: person.sortName.toWellFormed() }))),
    })
    await database('series_metadata').insert({ series_id, summary: title, publisher: title })
    const [genre] = await database('genres').insert({ name, name_key: `genre ${index}` }, 'id')
    await database('series_genres').insert({ series_id, genre_id: genre.id })
    await database('book_genres').insert({ book_id, genre_id: genre.id })
    const [collection] = await database('collections').insert({ name: title, summary: title }, 'id')
    await database('collection_series').insert({ collection_id: collection.id, series_id, position: 0 })
    const [readList] = await database('read_lists').insert({ name: title, summary: title }, 'id')
    await database('read_list_books').insert({ read_list_id: readList.id, book_id, position: 0 })
    await database('read_progress').insert({ user_id: userId, book_id, current_page: 2, completed: index % 2 === 0 })
  }
  return { titles }
}

t.test('feeds are valid whatever the names are, and every feed that they lead to is there', async (t) => {
  const { url, database } = await openComposedServer(t)
  const { titles } = await plant(database)
  const headers = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  for (const root of ['/opds/v1/catalog', '/opds/v2']) {
    const walked = await walkCatalog(url, root, { headers, reach: 'feeds', most: 2_000 })
    t.same(complaintsOf(walked).slice(0, 20), [], `${root}: ${walked.length} documents`)
    t.ok(walked.length > 8 * titles.length, `${walked.length}`)
    t.ok(
      walked.every(({ text }) => text.isWellFormed()),
      'nothing that could not be sent',
    )
  }
  const atom = await get(`${url}/opds/v1/catalog/series?pageSize=100`, { headers })
  const said = withXml(atom.bytes, (feed) => feed.find('/a:feed/a:entry/a:title', ATOM).map(({ content }) => content))
  t.same(said.sort(), titles.map((title) => xmlText(title.toWellFormed())).sort(), 'without what XML cannot hold, and else as they are')
  const json = await get(`${url}/opds/v2/series?pageSize=100`, { headers })
  const { navigation } = JSON.parse(json.bytes.toString()) as { navigation: { title: string }[] }
  t.same(navigation.map(({ title }) => title).sort(), titles.map((title) => title.toWellFormed()).sort())
})

t.test('searches and filters take any words', async (t) => {
  const { url, database } = await openComposedServer(t)
  await plant(database)
  const headers = { authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}` }
  for (const [what, name] of [...Object.entries(NAMES), ['long', LONG]] as const) {
    const words = encodeURIComponent(name.toWellFormed().slice(0, 500))
    for (const path of ['search?query=', 'search/series?query=', 'series?genre=', 'series?publisher=']) {
      for (const root of ['/opds/v1/catalog', '/opds/v2']) {
        const start = `${root}/${path}${words}`
        const walked = await walkCatalog(url, start, { headers, reach: 'feeds', most: 1 })
        t.ok(
          walked[0] && (walked[0].complaints.length === 0 || /answered 400/.test(walked[0].complaints[0] as string)),
          `${what}: ${start}`,
        )
        if (!/control|nothing but|blank/.test(what)) t.same(walked[0]?.complaints, [], `${what}: ${start.slice(0, 100)}`)
      }
    }
  }
  for (const bytes of ['%00', '%ff', '%ed%a0%80', '%c0%af']) {
    const { status } = await get(`${url}/opds/v2/search?query=${bytes}`, { headers })
    t.ok([200, 400].includes(status), `${bytes}: ${status}`)
  }
})
