import {
  type BookMetadata,
  definePlugin,
  type MatchAnswer,
  type MatchInput,
  NotFoundError,
  type Person,
  type Role,
  type SearchResult,
} from '../../../plugin-sdk/index.ts'
import { readDate, readIsbn13, readLanguage, titleSimilarity } from '../../../plugin-sdk/text.ts'
import { type Config, type Ctx, findAuthors, findByIsbn, findWorkOf, getEdition, getWork, SITE, search } from './catalog.ts'
import { coverOf, distinct, idOf, isRec, listOf, longTextOf, numberOf, type Rec, summaryOf, textOf, textsOf } from './records.ts'

// ── Search ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A result of the title search; null for one without a key or a title. */
function resultOfDoc(doc: Rec, wanted: string): SearchResult | null {
  const [externalId, title] = [idOf(doc, 'W'), textOf(doc['title'])]
  if (externalId === null || title === null) return null
  const whole = titleWith(title, doc)
  const average = numberOf(doc['ratings_average'])
  return {
    externalId,
    title: whole,
    year: numberOf(doc['first_publish_year']),
    coverUrl: coverOf(doc),
    relevance: Math.max(titleSimilarity(wanted, title), titleSimilarity(wanted, whole)),
    preview: {
      genres: textsOf(doc['subject'] ?? []).slice(0, 5),
      rating: average === null ? null : average * 20,
      bookCount: numberOf(doc['edition_count']),
      description: textsOf(doc['author_name'] ?? []).join(', ') || null,
    },
  }
}

const titleWith = (title: string, record: Rec): string => {
  const subtitle = textOf(record['subtitle'])
  return subtitle === null || title.includes(subtitle) ? title : `${title}: ${subtitle}`
}

function resultOfEdition(edition: Rec): SearchResult | null {
  const [externalId, title] = [idOf(edition, 'M'), textOf(edition['title'])]
  if (externalId === null || title === null) return null
  return {
    externalId,
    title: titleWith(title, edition),
    year: dateOf(edition)?.year ?? null,
    coverUrl: coverOf(edition),
    relevance: 1,
    preview: {
      description: [...textsOf(edition['publishers'] ?? []), textOf(edition['publish_date']) ?? ''].filter(Boolean).join(', ') || null,
    },
  }
}

const byRelevance = (a: SearchResult, b: SearchResult) => (b.relevance ?? 0) - (a.relevance ?? 0)

// ── Get ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const dateOf = (record: Rec) => readDate(textOf(record['publish_date']) ?? textOf(record['first_publish_date']) ?? '')

/** Roles by Open Library's names for contributors. */
const ROLES: readonly [pattern: RegExp, role: Role][] = [
  [/translat/i, 'translator'],
  [/illustrat|drawings|artist/i, 'illustrator'],
  [/edit/i, 'editor'],
  [/cover/i, 'cover_artist'],
  [/co-?author/i, 'co_author'],
]

function peopleOf(authors: readonly string[], edition: Rec | null): Person[] {
  const people: Person[] = authors.map((name) => ({ name, role: 'author' }))
  for (const one of listOf(edition?.['contributors'])) {
    const name = isRec(one) ? textOf(one['name']) : null
    if (name === null || people.some((person) => person.name === name)) continue
    const roleName = textOf((one as Rec)['role']) ?? ''
    people.push({ name, role: ROLES.find(([pattern]) => pattern.test(roleName))?.[1] ?? 'contributor' })
  }
  return people
}

/** `Dune chronicles #1`, `Dune chronicles, bk. 1`, `Discworld -- 4`: the number, if there is one. */
const numberInSeries = (edition: Rec): number | null => {
  const [series = ''] = textsOf(edition['series'] ?? [])
  const [, number] = /(?:#|--|;|,|\b(?:no|bk|book|vol|volume|v|part)\.?)\s*(\d{1,4}(?:\.\d{1,2})?)\)?$/i.exec(series) ?? []
  return number === undefined ? null : Number(number)
}

const isbnsOf = (edition: Rec): string | null => {
  const written = [...textsOf(edition['isbn_13'] ?? []), ...textsOf(edition['isbn_10'] ?? [])]
  return distinct(written.map(readIsbn13).filter((isbn) => isbn !== null)).join(',') || null
}

/** Identifiers at other services, by the names of the services. */
function idsOf(work: Rec | null, edition: Rec | null): Record<string, string> {
  const ids: Record<string, string> = {}
  const others = isRec(edition?.['identifiers']) ? edition['identifiers'] : {}
  const named = { ...others, lccn: edition?.['lccn'], oclc: edition?.['oclc_numbers'] }
  for (const [source, value] of Object.entries(named).slice(0, 30)) {
    const [id] = textsOf(value ?? [])
    if (id !== undefined && /^[a-z0-9._-]{1,50}$/.test(source) && id.length <= 200) ids[source] = id
  }
  const own = idOf(work ?? null, 'W')
  if (own !== null) ids['openlibrary.work'] = own
  return ids
}

function linksOf(work: Rec | null): { label: string; url: string }[] {
  return listOf(work?.['links'])
    .filter(isRec)
    .map((link) => ({ label: (textOf(link['title']) ?? 'Link').slice(0, 100), url: textOf(link['url']) ?? '' }))
    .filter(({ url }) => /^https?:\/\/\S{1,1900}$/.test(url))
    .slice(0, 20)
}

async function describe(work: Rec | null, edition: Rec | null, ctx: Ctx): Promise<BookMetadata> {
  const record = edition ?? work ?? {}
  // The authors of the edition, if it has any: a translation may be of another author's arrangement.
  const own = edition === null ? [] : await findAuthors(edition, ctx)
  const authors = own.length > 0 || work === null ? own : await findAuthors(work, ctx)
  const date = dateOf(record)
  const subjects = distinct([...textsOf(work?.['subjects'] ?? []), ...textsOf(edition?.['subjects'] ?? [])])
  const [language] = listOf(edition?.['languages'])
  const [publisher = null] = textsOf(edition?.['publishers'] ?? [])
  const isEdition = edition !== null
  const externalId = (isEdition ? idOf(edition, 'M') : idOf(record, 'W')) ?? ''
  return {
    externalId,
    externalUrl: `${SITE}/${isEdition ? 'books' : 'works'}/${externalId}`,
    title: textOf(record['title']),
    subtitle: textOf(record['subtitle']),
    summary: summaryOf(edition, work),
    publisher,
    year: date?.year ?? null,
    month: date?.month ?? null,
    day: date?.day ?? null,
    authors: peopleOf(authors, edition),
    subjects: subjects.slice(0, ctx.config.subjectsMax ?? 20),
    coverUrl: coverOf(edition, work),
    externalLinks: linksOf(work),
    externalIds: idsOf(work, edition),
    isbns: isEdition ? isbnsOf(edition) : null,
    language: readLanguage(String(isRec(language) ? language['key'] : (language ?? '')).replace('/languages/', '')),
    pageCount: isEdition ? (numberOf(edition['number_of_pages']) ?? pagesIn(edition)) : null,
    number: isEdition ? numberInSeries(edition) : null,
  }
}

/** Reads `xii, 412 p. ;`, as on catalog cards, when there is no page count: the largest of the separate counts. */
function pagesIn(edition: Rec): number | null {
  const counted = [...(longTextOf(edition['pagination']) ?? '').slice(0, 200).matchAll(/(\d{1,5})\s*p(?:\.|ages|\b)/gi)]
  return counted.length === 0 ? null : Math.max(...counted.map(([, pages]) => Number(pages)))
}

// ── Match ───────────────────────────────────────────────────────────────────────────────────────────────────────────

async function match({ title, alternateTitles = [], authors = [], isbn, year }: MatchInput, ctx: Ctx): Promise<MatchAnswer> {
  const number = isbn ? readIsbn13(isbn) : null
  const edition = number === null ? null : await findByIsbn(number, ctx)
  const exact = edition === null ? null : resultOfEdition(edition)
  if (exact !== null) {
    // An ISBN printed in another book, or mistyped into one that exists, finds a title that has nothing in common.
    const likeness = Math.max(...[title, ...alternateTitles].map((name) => titleSimilarity(name, exact.title)))
    return { match: exact, confidence: title.trim() === '' || likeness >= 0.3 ? 1 : 0.5, alternatives: [] }
  }
  if (title.trim() === '') return { match: null, confidence: 0, alternatives: [] }
  const [author] = authors
  let { docs } = await search({ title, author, limit: 10, page: 1 }, ctx)
  // Author names have many spellings; a search by title alone finds more, and the author still counts below.
  if (docs.length === 0 && author !== undefined) docs = (await search({ title, limit: 10, page: 1 }, ctx)).docs
  const rated = docs
    .map((doc) => ({ doc, result: resultOfDoc(doc, title) }))
    .filter((one): one is { doc: Rec; result: SearchResult } => one.result !== null)
    .map(({ doc, result }) => ({ ...result, relevance: likelihood(result, doc, { title, alternateTitles, author, year: year ?? null }) }))
    .sort(byRelevance)
  const [best, ...alternatives] = rated
  // Below this, it is another book.
  return best === undefined || best.relevance < 0.5
    ? { match: null, confidence: 0, alternatives: rated }
    : { match: best, confidence: best.relevance, alternatives }
}

/** The title counts most; another author, or a distant year, means another book with this title. */
function likelihood(
  { title, year }: SearchResult,
  doc: Rec,
  wanted: { title: string; alternateTitles: readonly string[]; author: string | undefined; year: number | null },
): number {
  const short = textOf(doc['title']) ?? title
  const titles = [wanted.title, ...wanted.alternateTitles.slice(0, 10)]
  const likeness = Math.max(...titles.map((name) => Math.max(titleSimilarity(name, title), titleSimilarity(name, short))))
  const names = textsOf(doc['author_name'] ?? []).slice(0, 20)
  const known =
    wanted.author === undefined || names.length === 0
      ? null
      : Math.max(...names.map((name) => titleSimilarity(name, wanted.author as string)))
  const author = known === null ? 0.9 : known >= 0.6 ? 1 : 0.5
  // A reprint appears later than the work, by any time; never earlier.
  const time = wanted.year === null || !year || wanted.year >= year - 1 ? 1 : 0.8
  return Math.round(likeness * author * time * 1000) / 1000
}

export default definePlugin<Config>({
  metadata: {
    book: {
      async search({ query, isbn, author, limit, cursor }, ctx) {
        const number = readIsbn13(isbn ?? query)
        if (number !== null) {
          const edition = await findByIsbn(number, ctx)
          const result = edition === null ? null : resultOfEdition(edition)
          if (result !== null) return { results: [result], nextCursor: null }
        }
        if (query.trim() === '' || readIsbn13(query) !== null) return { results: [], nextCursor: null }
        const page = cursor !== undefined && /^[1-9]\d{0,2}$/.test(cursor) ? Number(cursor) : 1
        const { docs, total } = await search({ title: query, author, limit, page }, ctx)
        const results = docs.map((doc) => resultOfDoc(doc, query)).filter((result) => result !== null)
        ctx.log.debug('searched', { found: total, shown: results.length, page })
        return {
          results: results.sort(byRelevance).slice(0, limit),
          nextCursor: docs.length >= limit && page * limit < total ? String(page + 1) : null,
        }
      },

      async get({ externalId }, ctx) {
        const work = idOf(externalId, 'W')
        if (work !== null) return await describe(await getWork(work, ctx), null, ctx)
        const edition = idOf(externalId, 'M')
        if (edition === null)
          throw new NotFoundError(
            `"${externalId}" is neither a work nor an edition of Open Library. Their identifiers look like OL45804W and OL7353617M.`,
          )
        const found = await getEdition(edition, ctx)
        return await describe(await findWorkOf(found, ctx), found, ctx)
      },

      match,
    },
  },
})
