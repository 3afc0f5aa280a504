import { formatsOfProfile, type MediaProfile } from '#api/komga/media-profile.ts'
import { type FilterTarget, type OwnCondition, refuseAt, sentAs } from '#api/komga/own-condition.ts'
import { rolesBehind } from '#api/komga/values.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { isUuid } from '#core/foundation/schema.ts'

/** One comparison as Komga writes it; operators and keywords are case-insensitive. */
interface Comparison {
  operator: string
  value: unknown
  dateTime: unknown
  duration: unknown
  /** JSON pointer to the comparison. */
  path: string
}

type Translate = (comparison: Comparison) => OwnCondition

const TEXT: Record<string, [operator: string, isNegative?: true]> = {
  is: ['is'],
  isnot: ['isNot'],
  contains: ['contains'],
  doesnotcontain: ['doesNotContain'],
  beginswith: ['beginsWith'],
  doesnotbeginwith: ['beginsWith', true],
  endswith: ['endsWith'],
  doesnotendwith: ['endsWith', true],
}
const NUMBER: Record<string, string> = { is: 'eq', isnot: 'ne', greaterthan: 'gt', lessthan: 'lt' }
/** Komga has other operators for numbers that may be null (isNullT). */
const NONE: Record<string, string> = { isnull: 'isNull', isnullt: 'isNull', isnotnull: 'isNotNull', isnotnullt: 'isNotNull' }

const unknownOperator = ({ operator, path }: Comparison): never =>
  refuseAt(`${path}/operator`, `is "${operator.slice(0, 40)}", which is no operator of this member`)

const text =
  (field: string): Translate =>
  (given) => {
    const none = NONE[given.operator]
    if (none) return { [field]: { operator: none } }
    const [operator, isNegative] = TEXT[given.operator] ?? unknownOperator(given)
    const condition = { [field]: sentAs(`${given.path}/value`, { operator, value: given.value }) }
    return isNegative ? { not: condition } : condition
  }

const number =
  (field: string): Translate =>
  (given) => {
    const none = NONE[given.operator]
    if (none) return { [field]: { operator: none } }
    const operator = NUMBER[given.operator] ?? unknownOperator(given)
    return { [field]: sentAs(`${given.path}/value`, { operator, value: given.value }) }
  }

const bool =
  (field: string): Translate =>
  (given) => {
    if (given.operator !== 'istrue' && given.operator !== 'isfalse') unknownOperator(given)
    return { [field]: { operator: given.operator === 'istrue' ? 'isTrue' : 'isFalse' } }
  }

/** A text that is no id of this server is the id of nothing. */
const id =
  (field: string): Translate =>
  (given) => {
    const { operator, value, path } = given
    if (operator !== 'is' && operator !== 'isnot') unknownOperator(given)
    if (typeof value !== 'string') refuseAt(`${path}/value`, 'must be a text')
    return { [field]: { operator: operator === 'is' ? 'in' : 'notIn', values: isUuid(value) ? [value] : [] } }
  }

/** Keywords of Komga, each with its condition. */
const word =
  (words: Record<string, OwnCondition>): Translate =>
  (given) => {
    if (given.operator !== 'is' && given.operator !== 'isnot') unknownOperator(given)
    const name = typeof given.value === 'string' ? given.value.toUpperCase() : ''
    const condition = Object.hasOwn(words, name) ? words[name] : undefined
    if (condition === undefined) refuseAt(`${given.path}/value`, `must be one of ${Object.keys(words).join(', ')}`)
    return given.operator === 'is' ? condition : { not: condition }
  }

const is = (field: string, value: string): OwnCondition => ({ [field]: { operator: 'is', value } })

/** `P7D`, `PT36H`: days, hours, minutes and seconds. */
const DURATION = /^P(?:(\d{1,6})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,9})M)?(?:(\d{1,10})(?:\.\d+)?S)?)?$/

/** Compare with the present time. */
const RELATIVE = new Set(['isinthelast', 'isnotinthelast'])

const withoutZone = (time: string) => (time.endsWith(']') && time.includes('[') ? time.slice(0, time.indexOf('[')) : time)

const date =
  (field: string): Translate =>
  (given) => {
    const { operator, path } = given
    const none = NONE[operator]
    if (none) return { [field]: { operator: none } }
    if (operator === 'before' || operator === 'after') {
      // Java writes the name of the time zone after the offset.
      const value = typeof given.dateTime === 'string' ? withoutZone(given.dateTime) : given.dateTime
      return { [field]: sentAs(`${path}/dateTime`, { operator, value }) }
    }
    if (!RELATIVE.has(operator)) unknownOperator(given)
    const match = typeof given.duration === 'string' ? DURATION.exec(given.duration) : null
    if (!match) refuseAt(`${path}/duration`, 'must be a time such as P7D or PT36H')
    const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0))
    const since = new Date(
      Math.max(Date.UTC(1, 0, 1), Date.now() - (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000),
    ).toISOString()
    return { [field]: { operator: operator === 'isinthelast' ? 'onOrAfter' : 'before', value: since } }
  }

const author =
  (target: FilterTarget): Translate =>
  ({ operator, value, path, ...rest }) => {
    if (operator !== 'is' && operator !== 'isnot') unknownOperator({ operator, value, path, ...rest })
    const { name, role } = (typeof value === 'object' && value !== null ? value : {}) as { name?: unknown; role?: unknown }
    const hasName = typeof name === 'string' && name !== ''
    const hasRole = typeof role === 'string' && role !== ''
    if (!hasName && !hasRole) refuseAt(`${path}/value`, 'needs a name, a role or both')
    const condition = authorCondition(target, { name: hasName ? name : null, role: hasRole ? role : null })
    return operator === 'is' ? condition : { not: condition }
  }

/** A person of the book or series: by name, by role, or by both. */
export function authorCondition(target: FilterTarget, { name, role }: { name: string | null; role: string | null }): OwnCondition {
  if (role === null) {
    const fields = target === 'series' ? ['author', 'bookAuthor'] : ['author']
    return { anyOf: fields.map((field) => is(field, name ?? '')) }
  }
  const operator = name === null ? 'beginsWith' : 'is'
  return { anyOf: rolesBehind(role.toLowerCase()).map((ours) => ({ person: { operator, value: `${ours}:${name ?? ''}` } })) }
}

export const READ_STATUS: Record<string, OwnCondition> = {
  UNREAD: is('readStatus', 'unread'),
  IN_PROGRESS: is('readStatus', 'in_progress'),
  READ: is('readStatus', 'read'),
}
const NOTHING: OwnCondition = { anyOf: [] }
export const MEDIA_STATUS: Record<string, OwnCondition> = {
  READY: is('state', 'analyzed'),
  ERROR: is('state', 'failed'),
  UNKNOWN: is('state', 'pending'),
  UNSUPPORTED: NOTHING,
  OUTDATED: NOTHING,
}
const ofProfile = (profile: MediaProfile): OwnCondition => ({ anyOf: formatsOfProfile(profile).map((format) => is('format', format)) })
export const MEDIA_PROFILE: Record<string, OwnCondition> & Record<MediaProfile, OwnCondition> = {
  DIVINA: ofProfile('DIVINA'),
  EPUB: ofProfile('EPUB'),
  PDF: ofProfile('PDF'),
}
export const SERIES_STATUS: Record<string, OwnCondition> = {
  ENDED: is('status', 'ended'),
  // The view shows all of these as ONGOING.
  ONGOING: { anyOf: [is('status', 'ongoing'), is('status', 'unknown'), { status: { operator: 'isNull' } }] },
  ABANDONED: is('status', 'abandoned'),
  HIATUS: is('status', 'hiatus'),
}

const POSTER_SOURCES: Readonly<Record<string, string>> = { GENERATED: 'file', SIDECAR: 'found', USER_UPLOADED: 'custom' }

/** A cover of a kind, and whether it is shown; either may be absent. */
const poster: Translate = (given) => {
  const { operator, value, path } = given
  if (operator !== 'is' && operator !== 'isnot') unknownOperator(given)
  if (!isObject(value)) refuseAt(`${path}/value`, 'must be an object with a type, with selected, or with both')
  const { type = null, selected = null } = value
  const name = typeof type === 'string' ? type.toUpperCase() : ''
  if (type !== null && !Object.hasOwn(POSTER_SOURCES, name))
    refuseAt(`${path}/value/type`, `must be one of ${Object.keys(POSTER_SOURCES).join(', ')}`)
  if (selected !== null && typeof selected !== 'boolean') refuseAt(`${path}/value/selected`, 'must be true or false')
  if (type === null && selected === null) return { allOf: [] }
  const field = selected === null ? 'cover' : selected ? 'selectedCover' : 'unselectedCover'
  const sources = type === null ? Object.values(POSTER_SOURCES) : [POSTER_SOURCES[name] as string]
  const condition = { anyOf: sources.map((source) => is(field, source)) }
  return operator === 'is' ? condition : { not: condition }
}

const COMMON = {
  libraryId: id('libraryId'),
  title: text('title'),
  releaseDate: date('releaseDate'),
  tag: text('tag'),
  readStatus: word(READ_STATUS),
  oneShot: bool('oneshot'),
}
const FIELDS: Record<FilterTarget, Record<string, Translate>> = {
  series: {
    ...COMMON,
    collectionId: id('collectionId'),
    // No list contains a series all of whose books are deleted.
    deleted: (given) => ((bool('deleted')(given)['deleted'] as { operator: string }).operator === 'isFalse' ? { allOf: [] } : NOTHING),
    complete: bool('completion'),
    titleSort: text('titleSort'),
    genre: text('genre'),
    sharingLabel: text('sharingTag'),
    publisher: text('publisher'),
    language: text('language'),
    ageRating: number('ageRating'),
    seriesStatus: word(SERIES_STATUS),
    author: author('series'),
  },
  books: {
    ...COMMON,
    seriesId: id('seriesId'),
    readListId: id('readListId'),
    deleted: bool('deleted'),
    numberSort: number('number'),
    mediaStatus: word(MEDIA_STATUS),
    mediaProfile: word(MEDIA_PROFILE),
    poster,
    author: author('books'),
  },
}

interface Seen {
  deleted: boolean
  now: boolean
}

/**
 * Reads a condition as Komga writes it. Several members of one object must all hold.
 * @param seen.deleted is set if the condition mentions `deleted`; only then may a list contain deleted books
 * @param seen.now is set if it compares with the present time
 * @throws invalid_request with the path of an unknown member, operator or value
 */
export function readKomgaCondition(given: unknown, target: FilterTarget, seen: Seen = { deleted: false, now: false }): OwnCondition {
  const fields = FIELDS[target]
  return read(given, '/condition')

  function read(value: unknown, path: string): OwnCondition {
    if (!isObject(value)) refuseAt(path, 'must be an object')
    const parts = Object.entries(value)
      // Some generated clients name the kind of each condition beside it; its member says the same.
      .filter(([key, member]) => member !== null && !(key === 'type' && typeof member === 'string'))
      .map(([key, member]) => readMember(key, member, `${path}/${key}`))
    const [only] = parts
    return parts.length === 1 && only ? only : sentAs(path, { allOf: parts })
  }

  function readMember(key: string, member: unknown, path: string): OwnCondition {
    if (key === 'allOf' || key === 'anyOf') {
      if (!Array.isArray(member)) refuseAt(path, 'must be a list of conditions')
      return sentAs(path, { [key]: member.map((part, index) => read(part, `${path}/${index}`)) })
    }
    const translate = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (!translate) refuseAt(path, `is no field to filter by; there are ${Object.keys(fields).join(', ')}, and allOf, anyOf`)
    if (key === 'deleted') seen.deleted = true
    if (!isObject(member) || typeof member['operator'] !== 'string') refuseAt(path, 'must be an object with an operator')
    const { value, dateTime, duration } = member
    const operator = member['operator'].toLowerCase()
    if (RELATIVE.has(operator)) seen.now = true
    return sentAs(path, translate({ operator, value, dateTime, duration, path }))
  }
}
