import t from 'tap'
import type { Static } from 'typebox'
import type { LibraryEntry } from '#plugins/host/library-entry-query.ts'
import { RESULT_SCHEMAS, readResult } from '#plugins/host/results.ts'
import { CAPABILITY_METHODS } from '#plugins/packages/manifest.ts'
import type * as Sdk from '../../plugin-sdk/types.ts'

/**
 * The promises to authors and the checks of the server are written twice, as types and as schemas, so that the SDK has no dependencies. The
 * compiler compares them here: a member that exists on only one side, or differs, does not compile.
 */

/** Makes every member required, so that a member that is optional on one side and missing on the other is found. */
type Complete<Value> = Value extends readonly (infer Entry)[]
  ? Complete<Entry>[]
  : Value extends object
    ? { [Name in keyof Value]-?: Complete<Value[Name]> }
    : Value
type Within<Inner, Outer> = [Inner] extends [Outer] ? true : false
type Same<A, B> = [Within<A, B>, Within<B, A>, Within<Complete<A>, Complete<B>>, Within<Complete<B>, Complete<A>>] extends [
  true,
  true,
  true,
  true,
]
  ? true
  : false

/** What JSON leaves of a value: undefined members of records are not sent. */
type Sent<Value> = Value extends readonly (infer Entry)[]
  ? Sent<Entry>[]
  : Value extends object
    ? string extends keyof Value
      ? Record<string, Exclude<Value[keyof Value], undefined>>
      : { [Name in keyof Value]: Sent<Value[Name]> }
    : Value
type Answer<Handler> = Handler extends (...given: never[]) => infer Result ? Sent<Awaited<Result>> : never
type At<Value, Path extends string> = Path extends `${infer Name}.${infer Rest}`
  ? At<NonNullable<Value[Name & keyof Value]>, Rest>
  : NonNullable<Value[Path & keyof Value]>
type Schemas = typeof RESULT_SCHEMAS
/** For every method: the return type of a plugin's function against the type of its schema. */
type Agreement = { [Method in keyof Schemas]: Same<Answer<At<Sdk.Plugin, Method>>, Static<Schemas[Method]>> }

t.test('the types of the SDK match the server’s schemas, method by method', async (t) => {
  const agreement: Agreement = {
    'metadata.series.search': true,
    'metadata.series.get': true,
    'metadata.series.match': true,
    'metadata.book.search': true,
    'metadata.book.get': true,
    'metadata.book.match': true,
    'recommendations.get': true,
    'recommendations.refresh': true,
  }
  const methods = Object.entries(CAPABILITY_METHODS).flatMap(([capability, names]) => names.map((name) => `${capability}.${name}`))
  const unread = ['recommendations.dismiss']
  t.same(Object.keys(agreement).sort(), Object.keys(RESULT_SCHEMAS).sort())
  t.same([...Object.keys(agreement), ...unread].sort(), methods.sort(), 'every method of a manifest has a schema, or its answer is ignored')
})

t.test('every method has a handler in the SDK', async (t) => {
  type Method = {
    [Capability in keyof typeof CAPABILITY_METHODS]: `${Capability}.${(typeof CAPABILITY_METHODS)[Capability][number]}`
  }[keyof typeof CAPABILITY_METHODS]
  type Handled = { [Path in Method]: At<Sdk.Plugin, Path> extends (...given: never[]) => unknown ? true : false }
  type Missing = { [Path in Method]: Handled[Path] extends true ? never : Path }[Method]
  const missing: Same<Missing, never> = true
  t.ok(missing)
})

t.test('a library entry is the same on both sides, as far as it is granted', async (t) => {
  const same: Same<Complete<Sdk.LibraryEntry>, Complete<LibraryEntry>> = true
  t.ok(same)
})

t.test('the comparison finds differences', async (t) => {
  type Book = { title: string; year?: number | null; people?: { name: string; role?: 'author' | 'editor' }[] }
  const same: Same<Book, { title: string; year?: number | null; people?: { name: string; role?: 'author' | 'editor' }[] }> = true
  const different = {
    /** A missing member, which is assignable both ways. */
    fewer: false as Same<Book, { title: string; people?: { name: string; role?: 'author' | 'editor' }[] }>,
    deeper: false as Same<Book, { title: string; year?: number | null; people?: { name: string }[] }>,
    wider: false as Same<Book, { title: string; year?: number | null; people?: { name: string; role?: string }[] }>,
    required: false as Same<Book, { title: string; year: number | null; people?: { name: string; role?: 'author' | 'editor' }[] }>,
    nothingNull: false as Same<Book, { title: string; year?: number; people?: { name: string; role?: 'author' | 'editor' }[] }>,
  } satisfies Record<string, false>
  t.ok(same)
  t.equal(Object.keys(different).length, 5)
})

t.test('complete answers pass the schemas unchanged', async (t) => {
  const found: Sdk.SearchResult = {
    externalId: 'x',
    title: 'Dune',
    alternateTitles: ['Arrakis'],
    year: 1965,
    coverUrl: 'https://example.org/1.jpg',
    relevance: 0.5,
    preview: { status: 'ended', genres: ['Fiction'], rating: 90, description: 'Sand', bookCount: 6 },
  }
  const described = {
    externalId: 'x',
    externalUrl: 'https://example.org/x',
    title: 'Dune',
    titleSort: 'Dune',
    summary: 'Sand',
    publisher: 'Chilton',
    year: 1965,
    authors: [{ name: 'Frank Herbert', role: 'author' as const, sortName: 'Herbert, Frank' }],
    genres: ['Fiction'],
    tags: ['desert'],
    coverUrl: null,
    rating: { score: 92.5, voteCount: 3 },
    externalLinks: [{ label: 'Wiki', url: 'https://example.org/wiki' }],
    externalIds: { other: '1' },
    language: 'en',
  }
  const answers: { [Method in keyof Schemas]: Required<Answer<At<Sdk.Plugin, Method>>> } = {
    'metadata.series.search': { results: [found], nextCursor: '2' },
    'metadata.series.get': {
      ...described,
      alternateTitles: [{ title: 'Arrakis', language: 'en', label: null }],
      status: 'hiatus',
      readingDirection: 'webtoon',
      ageRating: 12,
      totalVolumeCount: 6,
      totalChapterCount: 48.5,
    },
    'metadata.series.match': { match: found, confidence: 1, alternatives: [found] },
    'metadata.book.search': { results: [], nextCursor: null },
    'metadata.book.get': {
      ...described,
      subtitle: 'A novel',
      number: 1.5,
      volume: 1,
      isbns: '9780441172719',
      month: 8,
      day: 1,
      pageCount: 412,
      subjects: ['Deserts'],
    },
    'metadata.book.match': { match: null, confidence: 0, alternatives: [] },
    'recommendations.get': {
      recommendations: [
        {
          externalId: 'x',
          title: 'Dune',
          score: 1,
          reason: 'You like sand.',
          tags: [{ name: 'desert', category: 'setting', rank: 1 }],
          basedOn: ['Sahara'],
          inLibrary: false,
          status: null,
          format: 'novel',
          countryOfOrigin: 'US',
          startYear: 1965,
          rating: 90,
          popularity: 5,
          totalVolumeCount: 6,
          totalChapterCount: null,
        },
      ],
    },
    'recommendations.refresh': { recommendations: [] },
  }
  for (const [method, answer] of Object.entries(answers)) t.same(readResult(method, JSON.stringify(answer)), answer, method)
})
