import { Compile } from 'typebox/compile'
import { isPlainIdentifier } from '#core/fields/identifier-form.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { fieldsOf, type Kind } from '#core/fields/record-kind.ts'
import { isPossibleDate } from '#core/fields/release-date.ts'
import { COMIC_INFO_KEY, pluginKey as keyOfPlugin, OWN_SOURCE } from '#core/fields/source-key.ts'
import type { Proposal } from '#core/matching/proposal.ts'
import type { BookAnswer, SeriesAnswer } from '#core/matching/provider-answers.ts'
import type { SetEntries } from '#core/metadata/metadata-set.ts'
import { NAMES_MAX, TAXONOMY_NAME_LENGTH_MAX } from '#core/metadata/name.ts'
import { LANGUAGE } from '#core/metadata/patch-rules.ts'

/** The keys of a provider's data. */
interface SourceNames {
  /** Key of its identifiers and ratings. */
  idKey: string
  /** Key of links without a name of their own. */
  pluginKey: string
  /** The names of services that installed plugins use. */
  idNames: ReadonlySet<string>
}

const checks = new Map(
  (['series', 'book'] as const).map((kind) => [kind, new Map(fieldsOf(kind).map(({ name, schema }) => [name, Compile(schema)]))]),
)

/** Converts a value to the form that a field stores; undefined if it is invalid. */
function usable(kind: Kind, name: string, value: unknown): unknown {
  if (value === undefined || value === null || value === '') return undefined
  if ((name === 'language' || name === 'languageIso') && !LANGUAGE.test(String(value))) return undefined
  if (name === 'isbns') return readIsbns(String(value)).valid.join(',') || undefined
  return checks.get(kind)?.get(name)?.Check(value) === true ? value : undefined
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const names = (list: readonly string[] | undefined): string[] =>
  [...new Set((list ?? []).map(oneLine))].filter((name) => name !== '' && name.length <= TAXONOMY_NAME_LENGTH_MAX).slice(0, NAMES_MAX)

/** Fields with a member in the answer; people and their roles are in `authors`. */
const proposedFields = (kind: Kind) => fieldsOf(kind).filter(({ proposed, role }) => proposed !== null && role === undefined)
const PROPOSED: Readonly<Record<Kind, ReturnType<typeof proposedFields>>> = {
  series: proposedFields('series'),
  book: proposedFields('book'),
}

function people(given: SeriesAnswer['authors']): object[] | undefined {
  const known = (given ?? []).flatMap(({ name, role = 'author', sortName }) => {
    const clean = oneLine(name)
    return clean === '' ? [] : [{ name: clean, role, ...(sortName && { sortName: oneLine(sortName) }) }]
  })
  return known.length > 0 ? known : undefined
}

/**
 * Converts an answer of a plugin to a proposal: drops members without a field. Identifiers at other
 * services get the keys of those services.
 */
export function proposalOf(kind: Kind, answer: SeriesAnswer | BookAnswer, { idKey, pluginKey, idNames }: SourceNames): Proposal {
  const given = answer as SeriesAnswer & BookAnswer
  const values: Record<string, unknown> = {}
  const put = (name: string, value: unknown): void => {
    const text = typeof value !== 'string' ? value : name === 'summary' ? value.trim() : oneLine(value)
    const fit = usable(kind, name, text)
    if (fit !== undefined) values[name] = fit
  }
  const lists: Readonly<Record<string, unknown>> = {
    authors: people(given.authors),
    subjects: given.subjects === undefined ? undefined : names(given.subjects),
  }
  for (const { name, proposed } of PROPOSED[kind])
    put(name, Object.hasOwn(lists, name) ? lists[name] : given[proposed as keyof typeof given])

  // A preview shows each field by itself, and the day would be left out only beside its month.
  if (!isPossibleDate(values)) delete values.day

  const sets: { -readonly [Name in keyof Proposal['sets']]: Proposal['sets'][Name] } = {}
  const genres = names(given.genres)
  const tags = names(given.tags)
  if (genres.length > 0) sets.genres = genres
  if (tags.length > 0) sets.tags = tags
  const own = { source: idKey, externalId: given.externalId.trim(), externalUrl: given.externalUrl ?? null }
  // The plugin is the authority for its own service.
  const isStored = own.externalId !== '' && (idKey === keyOfPlugin(pluginKey) || isPlainIdentifier(own.externalId))
  const ids = new Map([...otherIds(given.externalIds, idNames), ...(isStored ? [own] : [])].map((one) => [one.source, one]))
  sets.externalIds = [...ids.values()]
  const links = new Map((given.externalLinks ?? []).map(({ label, url }) => [oneLine(label) || pluginKey, url]))
  if (links.size > 0) sets.externalLinks = [...links].map(([source, url]) => ({ source, url }))
  if (kind === 'series') {
    const titles = (given.alternateTitles ?? []).map(({ title, language, label }) => ({
      title: oneLine(title),
      label: oneLine(label ?? language ?? '') || 'Alternate',
    }))
    if (titles.length > 0) sets.alternateTitles = titles.filter(({ title }) => title !== '' && title.length <= TAXONOMY_NAME_LENGTH_MAX)
    if (given.rating) sets.externalRatings = [{ source: idKey, rating: given.rating.score, voteCount: given.rating.voteCount ?? null }]
  }
  // The schema of each field has checked its value.
  return { values: values as Proposal['values'], sets, coverUrl: given.coverUrl ?? null }
}

const SERVICE = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/
/** A plugin may not give identifiers of this server and of comic files; a manifest may not name them either. */
const OWN_KEYS: ReadonlySet<string> = new Set([OWN_SOURCE, COMIC_INFO_KEY])

/**
 * Identifiers at other services. To write those of a service that a plugin uses is a right: a plugin has it for the service that its own manifest names,
 * which consent shows.
 */
function otherIds(given: Readonly<Record<string, string>> | undefined, idNames: ReadonlySet<string>): SetEntries['externalIds'][] {
  return Object.entries(given ?? {})
    .map(([source, id]) => ({ source, externalId: id.trim(), externalUrl: null }))
    .filter(({ source }) => SERVICE.test(source) && !OWN_KEYS.has(source) && !idNames.has(source))
    .filter(({ externalId }) => isPlainIdentifier(externalId))
}
