import { type Context, hasCode, NotFoundError, UpstreamError } from '../../../plugin-sdk/index.ts'
import { idOf, isRec, keyOf, listOf, type Rec, textOf } from './records.ts'

/** Requests to Open Library, by https://openlibrary.org/developers/api. */

export interface Config {
  subjectsMax: number
  language: string
}
export type Ctx = Context<Config>

export const SITE = 'https://openlibrary.org'

/** Merged works and authors redirect to each other; longer chains are loops. */
const REDIRECTS_MAX = 3
/** Anthologies have hundreds of authors, and each takes a request. */
const AUTHORS_MAX = 6

async function ask(path: string, ctx: Ctx): Promise<Rec> {
  const record = await ctx.http.json<unknown>(`${SITE}${path}`)
  if (!isRec(record)) throw new UpstreamError(`Open Library did not return a record at ${path}.`)
  return record
}

/** A record, following redirects to the record that it was merged into. @throws NotFoundError for deleted records */
async function getRecord(path: string, ctx: Ctx): Promise<Rec> {
  let from = path
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const record = await ask(`${from}.json`, ctx)
    const type = keyOf(record['type'])
    if (type === '/type/delete') throw new NotFoundError(`Open Library has deleted ${from}.`)
    const location = textOf(record['location'])
    if (type !== '/type/redirect' || location === null) return record
    if (!/^\/(works|books|authors)\/OL\d{1,15}[AMW]$/.test(location)) throw new UpstreamError(`${from} redirects to an invalid path.`)
    from = location
  }
  throw new UpstreamError(`${path} redirects in a loop.`)
}

export const getWork = (id: string, ctx: Ctx): Promise<Rec> => getRecord(`/works/${id}`, ctx)
export const getEdition = (id: string, ctx: Ctx): Promise<Rec> => getRecord(`/books/${id}`, ctx)

/** Null when no edition has this ISBN. The site redirects to the edition. */
export async function findByIsbn(isbn: string, ctx: Ctx): Promise<Rec | null> {
  try {
    return await getRecord(`/isbn/${isbn}`, ctx)
  } catch (error) {
    if (hasCode(error, 'not_found')) return null
    throw error
  }
}

/** The work of an edition; null when it has none or the work was deleted. */
export async function findWorkOf(edition: Rec, ctx: Ctx): Promise<Rec | null> {
  const [first] = listOf(edition['works'])
  const id = idOf(first, 'W')
  return id === null ? null : await unlessGone(getWork(id, ctx))
}

/** Names of the authors of a work or an edition, in order; deleted authors are left out. */
export async function findAuthors(record: Rec, ctx: Ctx): Promise<string[]> {
  // A work has { author: { key } }, an edition { key }, and some works { author: key }.
  const ids = listOf(record['authors']).map((entry) => idOf(isRec(entry) && entry['author'] !== undefined ? entry['author'] : entry, 'A'))
  const wanted = [...new Set(ids.filter((id) => id !== null))].slice(0, AUTHORS_MAX)
  const authors = await Promise.all(wanted.map((id) => unlessGone(getRecord(`/authors/${id}`, ctx))))
  return authors.map((author) => textOf(author?.['name']) ?? textOf(author?.['personal_name'])).filter((name) => name !== null)
}

async function unlessGone(record: Promise<Rec>): Promise<Rec | null> {
  try {
    return await record
  } catch (error) {
    if (hasCode(error, 'not_found')) return null
    throw error
  }
}

const FIELDS = 'key,title,subtitle,author_name,first_publish_year,cover_i,edition_count,ratings_average,subject,language'
/** Results per search page; nobody looks at more. */
const PAGE_MAX = 50

interface Wanted {
  title: string
  author?: string | undefined
  limit: number
  page: number
}

/** Searches works by title. */
export async function search({ title, author, limit, page }: Wanted, ctx: Ctx): Promise<{ docs: Rec[]; total: number }> {
  const parts = {
    title,
    author,
    language: marcOf(ctx.config.language ?? ''),
    fields: FIELDS,
    limit: String(Math.min(limit, PAGE_MAX)),
    page: String(page),
  }
  const query = Object.entries(parts)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`)
    .join('&')
  const answer = await ask(`/search.json?${query}`, ctx)
  const docs = listOf(answer['docs']).filter(isRec)
  return { docs, total: Number(answer['numFound'] ?? answer['num_found'] ?? docs.length) }
}

/** The search uses three-letter MARC codes; for these languages they differ from ISO 639. */
const MARC: Readonly<Record<string, string>> = {
  en: 'eng',
  de: 'ger',
  fr: 'fre',
  es: 'spa',
  it: 'ita',
  pt: 'por',
  nl: 'dut',
  ja: 'jpn',
  zh: 'chi',
  ko: 'kor',
  ru: 'rus',
  pl: 'pol',
  sv: 'swe',
  da: 'dan',
  no: 'nor',
  fi: 'fin',
  cs: 'cze',
  hu: 'hun',
  tr: 'tur',
  el: 'gre',
  ar: 'ara',
  he: 'heb',
  ro: 'rum',
  uk: 'ukr',
}
const marcOf = (language: string): string =>
  MARC[language.toLowerCase().split('-')[0] ?? ''] ?? (/^[a-z]{3}$/.test(language) ? language : '')
