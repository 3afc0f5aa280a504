import type { Caller } from '#core/account/caller.ts'
import { seesWholePaths, visibleFilePathSql } from '#core/account/path-view.ts'
import type { Permission } from '#core/account/permission.ts'
import { type Condition, type FilterField, type Operand, readCondition } from '#core/catalog/condition.ts'
import { asksForPart, compareFolded } from '#core/catalog/folded-text-query.ts'
import { noteAverages } from '#core/catalog/list-state-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { BOOK_TYPES } from '#core/metadata/book-metadata.ts'
import { nameKey, nameKeyPart } from '#core/metadata/name.ts'
import { SERIES_STATUSES } from '#core/metadata/series-metadata.ts'

/** A part of a WHERE clause. Every value is a binding; the text comes only from this file. */
interface Fragment {
  sql: string
  bindings: unknown[]
}

/** A condition, for trying rows one by one. */
export interface CompiledCondition extends Fragment {
  /** The same for finding all matches at once, if it should be written differently. */
  whole?: Fragment
  /** Whether it asks about averages of ratings. */
  asksAboutAverages?: true
}

/** Rows that belong to a record: of those in `from` the ones whose column `by` is the column `of` of the record. */
interface Rows {
  of: string
  from: string
  by: string
}

/** A field in SQL: an expression to compare, a set of rows with names, or a special test. */
type Column = FilterField & {
  /** The permission that a caller needs to use the field. */
  needs?: Permission
  /** Of ratings of all users. */
  isAverage?: true
} /** `folded` is a column with the folded text, if there is one. `visibleExpression` replaces the expression for callers who may not see its value: a comparison would reveal it. */ & (
    | { expression: string; visibleExpression?: string; callerBinding?: true; folded?: string }
    /** Rows that belong to the record, and their value to compare. `key`: it is a normalized name, or a person with a role. */
    | { sets: Rows[]; name: string; folded?: string; key?: 'name' | 'person' }
    | { test: (value: string) => Fragment; needsCaller?: true }
  )

const READ_STATUS = ['unread', 'in_progress', 'read'] as const
const seriesMetadata = (column: string) => `(SELECT m.${column} FROM series_metadata m WHERE m.series_id = series.id)`
const FOLDED = new Set(['publisher', 'summary'])
/** A text of the metadata, as rows: a subquery for each record could not use the index. */
const metadataText = (owner: 'book' | 'series', column: string): { family: 'text'; sets: Rows[]; name: string; folded?: string } => ({
  family: 'text',
  sets: [{ of: owner === 'book' ? 'books.id' : 'series.id', from: `${owner}_metadata m`, by: `m.${owner}_id` }],
  name: `m.${column}`,
  ...(FOLDED.has(column) && { folded: `m.${column}_fold` }),
})
const peopleOf = (owner: 'book' | 'series'): Rows => ({
  of: owner === 'book' ? 'books.id' : 'series.id',
  from: `${owner}_people x JOIN people n ON n.id = x.person_id`,
  by: `x.${owner}_id`,
})
/** A person with the role, as `writer:Alan Moore`: both must match the same entry. */
const PERSON = "(x.role || ':' || n.name_fold)"
const PEOPLE_OF_BOOKS: Rows = {
  of: 'series.id',
  from: 'book_people x JOIN people n ON n.id = x.person_id JOIN books b ON b.id = x.book_id AND b.deleted_at IS NULL',
  by: 'b.series_id',
}
/** A day as the moment when it begins. */
const beginOf = (day: string) => `(${day}::timestamp AT TIME ZONE 'UTC')`
const namesOf = (owner: 'book' | 'series', kind: 'genre' | 'tag', of: string): Rows => ({
  of,
  from: `${owner}_${kind}s x JOIN ${kind}s n ON n.id = x.${kind}_id`,
  by: `x.${owner}_id`,
})
const sharingTagsOf = (of: string): Rows => ({
  of,
  from: 'series_sharing_tags x JOIN sharing_tags n ON n.id = x.sharing_tag_id',
  by: 'x.series_id',
})
const present = 'FROM books b WHERE b.series_id = series.id AND b.deleted_at IS NULL'
/** Where a cover of a book comes from; a plugin or another book found it if no user uploaded it. */
const COVER_SOURCES = ['file', 'found', 'custom'] as const
const mine = (book: string, more = '') => `EXISTS (SELECT 1 FROM read_progress p WHERE p.book_id = ${book} AND p.user_id = ?${more})`

const SERIES: Record<string, Column> = {
  libraryId: { family: 'uuid', expression: 'series.library_id' },
  genre: { family: 'text', sets: [namesOf('series', 'genre', 'series.id')], name: 'n.name_key', key: 'name' },
  tag: { family: 'text', sets: [namesOf('series', 'tag', 'series.id')], name: 'n.name_key', key: 'name' },
  sharingTag: { family: 'text', sets: [sharingTagsOf('series.id')], name: 'n.name', needs: 'system-admin' },
  author: { family: 'text', sets: [peopleOf('series')], name: 'n.name_key', key: 'name' },
  bookAuthor: { family: 'text', sets: [PEOPLE_OF_BOOKS], name: 'n.name_key', key: 'name' },
  person: { family: 'text', sets: [peopleOf('series'), PEOPLE_OF_BOOKS], name: PERSON, key: 'person' },
  ageRating: { family: 'number', expression: seriesMetadata('age_rating') },
  releaseDate: {
    family: 'date',
    expression: beginOf('(SELECT min(b.released) FROM books b WHERE b.series_id = series.id AND b.deleted_at IS NULL)'),
  },
  oneshot: { family: 'bool', expression: 'series.oneshot' },
  status: { ...metadataText('series', 'status'), words: SERIES_STATUSES },
  publisher: metadataText('series', 'publisher'),
  language: metadataText('series', 'language'),
  summary: metadataText('series', 'summary'),
  name: { family: 'text', expression: 'series.title', folded: 'series.title_fold' },
  title: { family: 'text', expression: 'series.title', folded: 'series.title_fold' },
  titleSort: { family: 'text', expression: 'series.sort_key', folded: 'series.sort_key COLLATE "default"' },
  path: { family: 'text', expression: 'series.path' },
  year: { family: 'number', expression: seriesMetadata('year') },
  userRating: {
    family: 'number',
    expression: '(SELECT r.rating FROM series_user_ratings r WHERE r.series_id = series.id AND r.user_id = ?)',
    callerBinding: true,
  },
  communityRating: {
    family: 'number',
    expression: '(SELECT avg(r.rating) FROM series_user_ratings r WHERE r.series_id = series.id)',
    isAverage: true,
  },
  dateAdded: { family: 'date', expression: 'series.created_at' },
  updatedAt: { family: 'date', expression: 'series.updated_at' },
  readStatus: { family: 'word', words: READ_STATUS, test: seriesReadStatus, needsCaller: true, needs: 'progress-read' },
  completion: {
    family: 'bool',
    // Null if the total is unknown: such a series is neither complete nor incomplete.
    expression: `((SELECT count(*) ${present}) >= ${seriesMetadata('total_volume_count')})`,
  },
  hasExternalSourceId: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM series_external_ids e WHERE e.series_id = series.id)' },
  hasUserRating: {
    family: 'bool',
    expression: 'EXISTS (SELECT 1 FROM series_user_ratings r WHERE r.series_id = series.id AND r.user_id = ?)',
    callerBinding: true,
  },
  inCollection: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM collection_series c WHERE c.series_id = series.id)' },
  collectionId: {
    family: 'uuid',
    sets: [{ of: 'series.id', from: 'collection_series c', by: 'c.series_id' }],
    name: 'c.collection_id',
  },
  wantToRead: {
    family: 'bool',
    expression: 'EXISTS (SELECT 1 FROM want_to_read w WHERE w.series_id = series.id AND w.user_id = ?)',
    callerBinding: true,
    needs: 'progress-read',
  },
}

const BOOKS: Record<string, Column> = {
  libraryId: { family: 'uuid', expression: 'books.library_id' },
  seriesId: { family: 'uuid', expression: 'books.series_id' },
  genre: {
    family: 'text',
    sets: [namesOf('book', 'genre', 'books.id'), namesOf('series', 'genre', 'books.series_id')],
    name: 'n.name_key',
    key: 'name',
  },
  tag: {
    family: 'text',
    sets: [namesOf('book', 'tag', 'books.id'), namesOf('series', 'tag', 'books.series_id')],
    name: 'n.name_key',
    key: 'name',
  },
  sharingTag: { family: 'text', sets: [sharingTagsOf('books.series_id')], name: 'n.name', needs: 'system-admin' },
  author: { family: 'text', sets: [peopleOf('book')], name: 'n.name_key', key: 'name' },
  person: { family: 'text', sets: [peopleOf('book')], name: PERSON, key: 'person' },
  releaseDate: { family: 'date', expression: beginOf('books.released') },
  state: { family: 'text', expression: 'books.state' },
  deleted: { family: 'bool', expression: '(books.deleted_at IS NOT NULL)' },
  oneshot: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM series s WHERE s.id = books.series_id AND s.oneshot)' },
  title: { family: 'text', expression: 'books.title', folded: 'books.title_fold' },
  titleSort: { family: 'text', expression: 'books.sort_key', folded: 'books.sort_key COLLATE "default"' },
  summary: metadataText('book', 'summary'),
  publisher: metadataText('book', 'publisher'),
  language: metadataText('book', 'language_iso'),
  bookType: { ...metadataText('book', 'book_type'), words: BOOK_TYPES },
  path: { family: 'text', expression: visibleFilePathSql(true), visibleExpression: visibleFilePathSql(false) },
  format: { family: 'text', expression: 'books.file_format' },
  pageCount: { family: 'number', expression: 'books.page_count' },
  number: { family: 'number', expression: 'books.number' },
  year: { family: 'number', expression: 'extract(year FROM books.released)::int' },
  dateAdded: { family: 'date', expression: 'books.created_at' },
  updatedAt: { family: 'date', expression: 'books.updated_at' },
  readStatus: { family: 'word', words: READ_STATUS, test: bookReadStatus, needsCaller: true, needs: 'progress-read' },
  hasError: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM book_errors e WHERE e.book_id = books.id)' },
  cover: { family: 'word', words: COVER_SOURCES, test: bookCover(null) },
  selectedCover: { family: 'word', words: COVER_SOURCES, test: bookCover(true) },
  unselectedCover: { family: 'word', words: COVER_SOURCES, test: bookCover(false) },
  inReadList: { family: 'bool', expression: 'EXISTS (SELECT 1 FROM read_list_books r WHERE r.book_id = books.id)' },
  readListId: { family: 'uuid', sets: [{ of: 'books.id', from: 'read_list_books r', by: 'r.book_id' }], name: 'r.read_list_id' },
}

const COLUMNS = { books: BOOKS, series: SERIES }

/** The fields of conditions with their permissions, for the page that describes them. */
export const FILTER_FIELDS: Readonly<Record<keyof typeof COLUMNS, Readonly<Record<string, FilterField & { needs?: Permission }>>>> = COLUMNS

/**
 * The WHERE clause of a condition over `books` or `series`, for one statement. Text comparisons ignore case and accents; a missing value is not equal to
 * anything, so `isNot`, `ne` and `doesNotContain` match it.
 * @throws invalid_request like {@link readCondition}, forbidden for fields whose permission the caller does not have
 */
export function compileFilter(given: unknown, target: keyof typeof COLUMNS, caller: Caller): CompiledCondition {
  const columns = COLUMNS[target]
  // A list of words restricts the values of a field; the operators of text accept any text beside them.
  const fields = Object.fromEntries(
    Object.entries(columns).map(([name, { family, words }]) => [name, family === 'word' && words ? { family, words } : { family }]),
  )
  const condition = readCondition(given, fields)
  const compiler = new Compiler(columns, caller)
  const whole = compiler.drive(condition)
  const compiled: CompiledCondition = { ...compiler.compile(condition), ...(whole && { whole }) }
  if (!compiler.asksAboutAverages) return compiled
  noteAverages()
  return { ...compiled, asksAboutAverages: true }
}

class Compiler {
  readonly #columns: Record<string, Column>
  readonly #caller: Caller
  asksAboutAverages = false

  constructor(columns: Record<string, Column>, caller: Caller) {
    this.#columns = columns
    this.#caller = caller
  }

  /** Tests a row. What costs least comes first: PostgreSQL evaluates the parts of an expression in their order. */
  compile(condition: Condition): Fragment {
    switch (condition.kind) {
      case 'not': {
        const { sql, bindings } = this.compile(condition.part)
        return { sql: `((${sql}) IS NOT TRUE)`, bindings }
      }
      case 'leaf':
        return compileLeaf(this.#columnOf(condition.field), condition.operand, this.#caller)
      default: {
        const parts = condition.parts.map((part) => this.compile(part)).sort((one, other) => costOf(one) - costOf(other))
        if (parts.length === 0) return { sql: condition.kind === 'allOf' ? 'true' : 'false', bindings: [] }
        return joined(parts, condition.kind)
      }
    }
  }

  /**
   * The condition for finding all matches of a large table, from the few rows that name a person or a genre: as a list of ids, for which PostgreSQL uses an
   * index, also where several lists are alternatives. Only one part of an "all of" becomes a list: the others would be compared with each of its ids. Null
   * if no part can.
   */
  drive(condition: Condition): Fragment | null {
    if (condition.kind === 'not') return null
    if (condition.kind === 'leaf') return listLeaf(this.#columnOf(condition.field), condition.operand)
    const driven = condition.parts.map((part) => this.drive(part))
    if (condition.kind === 'anyOf') return driven.length > 0 && driven.every((part) => part !== null) ? joined(driven, 'anyOf') : null
    const first = driven.findIndex((part) => part !== null)
    if (first < 0) return null
    return joined([driven[first] as Fragment, ...condition.parts.flatMap((part, at) => (at === first ? [] : this.compile(part)))], 'allOf')
  }

  #columnOf(field: string): Column {
    const column = this.#columns[field] as Column
    const { needs } = column
    if (column.isAverage) this.asksAboutAverages = true
    if (needs !== undefined && !this.#caller.permissions.has(needs))
      refuse('forbidden', `Filtering by ${field} requires the permission ${needs}.`, { details: { permission: needs } })
    return column
  }
}

const joined = (parts: readonly Fragment[], kind: 'allOf' | 'anyOf'): Fragment => ({
  sql: `(${parts.map(({ sql }) => sql).join(kind === 'allOf' ? ' AND ' : ' OR ')})`,
  bindings: parts.flatMap(({ bindings }) => bindings),
})

/** Compared with a column: a text is compared letter by letter, and other tables are searched. */
const costOf = ({ sql }: Fragment): number => (sql.includes('SELECT') ? 2 : sql.includes('LIKE') ? 1 : 0)

/** The entries of a set that match; null if the operator is a negation, which most rows match. */
function listLeaf(column: Column, operand: Operand): Fragment | null {
  const { operator } = operand
  if (!('sets' in column) || NEGATIONS[operator] || operator === 'isNull' || operator === 'isNotNull') return null
  const { sql, bindings } = compareEntry(column, operand)
  const lists = column.sets.map(({ of, from, by }) => `${of} = ANY(ARRAY(SELECT ${by} FROM ${from} WHERE ${sql}))`)
  return { sql: `(${lists.join(' OR ')})`, bindings: column.sets.flatMap(() => bindings) }
}

function compileLeaf(column: Column, operand: Operand, caller: Caller): Fragment {
  if ('test' in column) {
    const { operator, value } = operand as { operator: string; value: string }
    const { sql, bindings } = column.test(value)
    const bound = bindings.map((binding) => (binding === CALLER ? caller.userId : binding))
    return { sql: operator === 'isNot' ? `NOT (${sql})` : sql, bindings: bound }
  }
  if ('sets' in column) {
    const { operator } = operand
    const negated = NEGATIONS[operator]
    const positive = negated ? ({ ...operand, operator: negated } as Operand) : operand
    // A set is null if it contains no value.
    const isBare = operator === 'isNull' || operator === 'isNotNull'
    const { sql, bindings } = isBare
      ? compare(column.name, { ...operand, operator: 'isNotNull' } as Operand)
      : compareEntry(column, positive)
    // Not IN: a negation would keep the ids of a whole library in memory, or compare each with each.
    const within = column.sets.map(({ of, from, by }) => `EXISTS (SELECT 1 FROM ${from} WHERE ${by} = ${of} AND ${sql})`)
    const negative = negated !== undefined || operator === 'isNull'
    return { sql: `${negative ? 'NOT ' : ''}(${within.join(' OR ')})`, bindings: column.sets.flatMap(() => bindings) }
  }
  const own = column.callerBinding ? [caller.userId] : []
  const expression = seesWholePaths(caller) ? column.expression : (column.visibleExpression ?? column.expression)
  const { sql, bindings } = compare(expression, operand, column.folded)
  const times = sql.split(expression).length - 1
  return { sql, bindings: [...Array.from({ length: times }, () => own).flat(), ...bindings] }
}

/** For a set of names, the negation applies to the whole set. */
const NEGATIONS: Record<string, string | undefined> = { isNot: 'is', doesNotContain: 'contains', notIn: 'in' }

/** One comparison with an entry of a set. Keys of names have single spaces, so the value is converted to a key first. */
function compareEntry({ name, folded, key }: { name: string; folded?: string; key?: 'name' | 'person' }, operand: Operand): Fragment {
  if (key === undefined || operand.family !== 'text') return compare(name, operand, folded)
  const { operator } = operand
  const value = operand.value as string
  const colon = value.indexOf(':')
  if (key === 'person' && colon >= 0 && (operator === 'is' || operator === 'beginsWith')) {
    const { sql, bindings } = compareKey('n.name_fold', operator, value.slice(colon + 1))
    return { sql: `(x.role = ? AND ${sql})`, bindings: [value.slice(0, colon).trim().toLowerCase(), ...bindings] }
  }
  return compareKey(key === 'person' ? PERSON : 'n.name_fold', operator, value)
}

const compareKey = (folded: string, operator: string, value: string): Fragment =>
  asksForPart(operator)
    ? compareFolded(folded, operator, nameKeyPart(value))
    : { sql: `${folded} = carrel_fold(?)`, bindings: [nameKey(value)] }

/** One comparison; the expression precedes every binding. @param folded of a text, if it is kept */
function compare(expression: string, operand: Operand, folded = `carrel_fold(${expression})`): Fragment {
  const { operator } = operand
  if (operator === 'isNull') return { sql: `${expression} IS NULL`, bindings: [] }
  if (operator === 'isNotNull') return { sql: `${expression} IS NOT NULL`, bindings: [] }
  switch (operand.family) {
    case 'bool':
      // Never null, and PostgreSQL joins the rows that exist instead of testing each record.
      if (expression.startsWith('EXISTS')) return { sql: operator === 'isTrue' ? expression : `NOT ${expression}`, bindings: [] }
      return { sql: `${expression} IS ${operator === 'isTrue' ? 'TRUE' : 'FALSE'}`, bindings: [] }
    case 'uuid':
      return operator === 'is' || operator === 'in'
        ? { sql: `${expression} = ANY(CAST(? AS uuid[]))`, bindings: [operand.values] }
        : { sql: `(${expression} = ANY(CAST(? AS uuid[]))) IS NOT TRUE`, bindings: [operand.values] }
    case 'text':
    case 'word': {
      const { sql, bindings } = compareFolded(folded, operator, operand.value as string)
      const isNegative = operator === 'doesNotContain' || operator === 'isNot'
      return { sql: `(${sql})${isNegative ? ' IS NOT TRUE' : ''}`, bindings }
    }
    case 'number': {
      const { low, high } = operand
      if (operator === 'between')
        return {
          sql: `${expression} BETWEEN coalesce(CAST(? AS float8), '-Infinity') AND coalesce(CAST(? AS float8), 'Infinity')`,
          bindings: [low, high],
        }
      const sign = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' }[operator]
      return { sql: `${expression} ${sign ?? 'IS DISTINCT FROM'} CAST(? AS float8)`, bindings: [low] }
    }
    case 'date': {
      const { low, high } = operand
      if (operator === 'between')
        return {
          sql: `(${expression} <@ tstzrange(CAST(? AS timestamptz), CAST(? AS timestamptz), '[${high && high.from === high.until ? ']' : ')'}'))`,
          bindings: [low?.from ?? null, high?.until ?? null],
        }
      const day = low as { from: string; until: string }
      const isDay = day.from !== day.until
      const [sign, at] = {
        after: isDay ? ['>=', day.until] : ['>', day.from],
        before: ['<', day.from],
        onOrAfter: ['>=', day.from],
        onOrBefore: isDay ? ['<', day.until] : ['<=', day.from],
      }[operator] as [string, string]
      return { sql: `${expression} ${sign} CAST(? AS timestamptz)`, bindings: [at] }
    }
  }
}

/** Marks the place of the caller's id in the bindings of a test. */
const CALLER = Symbol('caller')

/** Whether a book has a cover from a source. @param selected only one that is shown, or only one that is not */
function bookCover(selected: boolean | null): (source: string) => Fragment {
  const exists = (more: string) => `EXISTS (SELECT 1 FROM covers c WHERE c.book_id = books.id AND ${more})`
  // The cover from the file has no row, and is shown unless another is selected.
  const shown = selected === null ? '' : ` AND ${selected ? 'NOT ' : ''}${exists('c.is_selected')}`
  const chosen = selected === null ? '' : ` AND ${selected ? '' : 'NOT '}c.is_selected`
  const tests: Record<string, string> = {
    file: `(books.cover_hash IS NOT NULL${shown})`,
    found: exists(`c.source <> 'custom'${chosen}`),
    custom: exists(`c.source = 'custom'${chosen}`),
  }
  return (source) => ({ sql: tests[source] as string, bindings: [] })
}

function bookReadStatus(value: string): Fragment {
  const [sql, times] = {
    read: [mine('books.id', ' AND p.completed'), 1],
    in_progress: [mine('books.id', ' AND NOT p.completed'), 1],
    unread: [`NOT ${mine('books.id')}`, 1],
  }[value] as [string, number]
  return { sql, bindings: Array.from({ length: times }, () => CALLER) }
}

function seriesReadStatus(value: string): Fragment {
  const begun = `EXISTS (SELECT 1 ${present} AND ${mine('b.id')})`
  const unfinished = `EXISTS (SELECT 1 ${present} AND NOT ${mine('b.id', ' AND p.completed')})`
  const [sql, times] = {
    read: [`(${begun} AND NOT ${unfinished})`, 2],
    in_progress: [`(${begun} AND ${unfinished})`, 2],
    unread: [`NOT ${begun}`, 1],
  }[value] as [string, number]
  return { sql, bindings: Array.from({ length: times }, () => CALLER) }
}
