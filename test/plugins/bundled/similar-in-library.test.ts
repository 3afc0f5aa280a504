import fc from 'fast-check'
import t, { type Test } from 'tap'
import { readResult } from '#plugins/host/results.ts'
import { getBundledPlugin } from '#plugins/packages/bundled-plugins.ts'
import { openHostedPlugins } from '#test/support/hosted-plugins.ts'
import { openBundledSandbox } from '#test/support/library-plugin.ts'
import { addBook, addCaller, addLibrary, addSeries, shareSeries } from '#test/support/library-rows.ts'
import { agree } from '#test/support/plugin-hosts.ts'
import { findSupervisor } from '#test/support/supervisor.ts'
import { assertEventually } from '#test/support/timed-property.ts'
import type { LibraryEntry, Recommendation } from '../../../plugin-sdk/types.ts'

t.setTimeout(240_000)

const DAY_MS = 86_400_000
const day = (number: number) => new Date(Date.UTC(2026, 0, 1) + number * DAY_MS).toISOString()
const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

/** A series that nobody has started. */
const series = (number: number, more: Partial<LibraryEntry> = {}): LibraryEntry => ({
  seriesId: idOf(number),
  title: `Series ${number}`,
  alternateTitles: [],
  year: 2000,
  genres: [],
  tags: [],
  authors: [`Author ${number}`],
  summary: null,
  language: 'en',
  status: 'ongoing',
  addedAt: day(0),
  bookCount: 3,
  communityRating: null,
  rating: null,
  booksRead: 0,
  booksStarted: 0,
  lastReadAt: null,
  readers: 0,
  ...more,
})
const finished = { booksRead: 3, booksStarted: 3, lastReadAt: day(10) }

/** Forty series of four kinds, ten each: space, magic, crime and kitchen. */
const KINDS = ['Space', 'Magic', 'Crime', 'Kitchen'] as const
const WORDS = ['rocket orbit planet', 'wizard spell wand', 'murder detective clue', 'cook recipe oven'] as const
const kinds = (change: (number: number) => Partial<LibraryEntry> = () => ({})): LibraryEntry[] =>
  Array.from({ length: 40 }, (_, number) => {
    const kind = number % 4
    return series(number, { genres: [KINDS[kind]!], tags: [`${KINDS[kind]} tag ${number % 3}`], summary: WORDS[kind]!, ...change(number) })
  })

/** @param options.rubbish contains letters that the server removes from its output */
async function openSandbox(t: Test, options: { rubbish?: boolean } = {}) {
  const sandbox = await openBundledSandbox(findSupervisor(), [])
  t.teardown(() => sandbox.close())
  const ask = async (method: 'get' | 'refresh', input: object): Promise<Recommendation[]> => {
    const { answer } = await sandbox.call<{ recommendations: Recommendation[] }>(`recommendations.${method}`, input)
    const checked = readResult(`recommendations.${method}`, JSON.stringify(answer)) as { recommendations: Recommendation[] }
    if (!options.rubbish) t.same(checked, answer, 'the server changes nothing of the answer')
    return checked.recommendations
  }
  return {
    ...sandbox,
    refresh: async (limit = 10) => await ask('refresh', { limit }),
    get: async (limit = 10, exclude: string[] = []) => await ask('get', { limit, exclude }),
    dismiss: async (externalId: string) => await sandbox.call('recommendations.dismiss', { externalId, reason: null }),
    /** Runs the whole recommendation for a library. */
    of: async (library: readonly LibraryEntry[], limit = 10) => {
      sandbox.show(library)
      return await ask('refresh', { limit })
    },
  }
}

const ids = (found: readonly Recommendation[]) => found.map(({ externalId }) => externalId)
const kindsOf = (found: readonly Recommendation[]) => found.map(({ genres }) => genres?.[0])

t.test('similar series come first, with the largest cause as the reason', async (t) => {
  const { of } = await openSandbox(t)
  const read = new Set([1, 5])
  const library = kinds((number) => (read.has(number) ? finished : {}))
  const found = await of(library, 8)
  t.same(
    kindsOf(found),
    Array.from({ length: 8 }, () => 'Magic'),
  )
  for (const { reason, basedOn, inLibrary, externalId } of found) {
    t.match(reason, /^Because you finished Series (1|5)$/)
    t.equal(reason, `Because you finished ${basedOn?.[0]}`)
    t.equal(inLibrary, true)
    t.notOk(read.has(Number(externalId.slice(-3))))
  }

  // Removing each read series in turn shows which one contributes most.
  const many = [0, 1, 4, 8, 13, 21, 34]
  const full = kinds((number) => (many.includes(number) ? { ...finished, lastReadAt: day(number) } : {}))
  const scoreWithout = async (missing: number | null, externalId: string) => {
    const without = full.map((entry, number) =>
      number === missing ? { ...entry, booksRead: 0, booksStarted: 0, lastReadAt: null, bookCount: 0 } : entry,
    )
    return (await of(without, 40)).find((one) => one.externalId === externalId)?.score ?? 0
  }
  const [best] = await of(full)
  const whole = await scoreWithout(null, best!.externalId)
  const losses: { title: string; loss: number }[] = []
  for (const number of many) losses.push({ title: `Series ${number}`, loss: whole - (await scoreWithout(number, best!.externalId)) })
  losses.sort((a, b) => b.loss - a.loss)
  t.equal(best!.basedOn?.[0], losses[0]?.title, JSON.stringify(losses))
})

t.test('taste is distinguished in a small library too', async (t) => {
  const { of } = await openSandbox(t)
  const shelf = kinds((number) => ({
    tags: [],
    summary: '',
    title: `Book ${number}`,
    ...(number < 12 && number % 4 === 0 ? finished : {}),
  })).filter((_, number) => number < 32 && number % 4 < 2)
  const [first, ...more] = await of(shelf, 3)
  t.match(first?.reason, /^Because you finished/)
  t.ok(
    more.every(({ genres }) => genres?.[0] === first?.genres?.[0]),
    'its kind first',
  )
})

t.test('every form of reason is true', async (t) => {
  const { of } = await openSandbox(t)
  const reasonOf = async (more: Partial<LibraryEntry>) =>
    (
      await of(
        kinds((number) => (number === 2 ? more : {})),
        3,
      )
    )[0]?.reason
  t.equal(await reasonOf({ ...finished, rating: 90 }), 'Because you gave Series 2 90 out of 100')
  t.equal(await reasonOf({ ...finished, rating: 87 }), 'Because you gave Series 2 87 out of 100')
  t.equal(await reasonOf({ ...finished, rating: 66 }), 'Because you finished Series 2')
  t.equal(await reasonOf({ booksRead: 1, booksStarted: 2, lastReadAt: day(3) }), 'Because you are reading Series 2')
  t.equal(await reasonOf({ rating: 80 }), 'Because you gave Series 2 80 out of 100', 'read elsewhere')
  t.equal(await reasonOf({ booksStarted: 3, bookCount: 0, lastReadAt: day(3) }), 'Because you read Series 2', 'its books were deleted')

  const byOne = kinds((number) => (number === 3 || number === 8 ? { authors: ['Ada'], genres: [], tags: [], summary: null } : {}))
  const [first] = await of(byOne.map((entry, number) => (number === 3 ? { ...entry, ...finished } : entry)))
  t.match(first, { externalId: idOf(8), reason: 'More by Ada, because you finished Series 3', basedOn: ['Series 3'] })
  const [long] = await of(byOne.map((entry, number) => (number === 3 ? { ...entry, ...finished, title: 'x'.repeat(50_000) } : entry)))
  t.match(long?.reason, /^More by Ada, because you finished x{119}…$/)
})

t.test('read, started, rated, empty, dismissed and excluded series are not recommended', async (t) => {
  const { of, get, refresh, dismiss, show } = await openSandbox(t)
  const library = kinds((number) => {
    if (number === 1) return finished
    if (number === 5) return { booksStarted: 1, lastReadAt: day(9) }
    if (number === 9) return { rating: 75 }
    return number === 13 ? { bookCount: 0 } : {}
  })
  const all = ids(await of(library, 100))
  t.equal(all.length, 36)
  for (const number of [1, 5, 9, 13]) t.notOk(all.includes(idOf(number)), String(number))

  const [first, second, third] = all as [string, string, string]
  t.same(ids(await get(1, [first])), [second], 'excluded')
  await Promise.all([dismiss(first), dismiss(second), dismiss(first)])
  t.same(ids(await get(1)), [third], 'two concurrent dismissals both count')
  t.notOk(
    ids(await refresh(100)).some((id) => id === first || id === second),
    'and computed afresh',
  )
  t.equal((await refresh(100)).length, 34)
  show([])
  t.equal((await get(100)).length, 34, 'stored recommendations need no library')
  t.same(await get(0), [])
  t.same(await refresh(5), [], 'no candidates are left')
})

t.test('bad ratings and abandoned series count against similar ones', async (t) => {
  const { of } = await openSandbox(t)
  const magicAmong = async (more: Partial<LibraryEntry>) => {
    const library = kinds((number) =>
      number === 1 ? more : number === 0 ? { ...finished, genres: ['Space', 'Magic'], summary: 'rocket wizard' } : {},
    )
    return kindsOf(await of(library, 12)).filter((kind) => kind === 'Magic').length
  }
  const indifferent = await magicAmong({})
  t.ok((await magicAmong({ ...finished, rating: 95 })) > indifferent, 'a good rating raises the score')
  t.ok((await magicAmong({ ...finished, rating: 10 })) < indifferent, 'a bad rating lowers the score')
  const left = { booksStarted: 1, lastReadAt: day(-200) }
  t.ok((await magicAmong(left)) < indifferent, 'an abandoned series lowers the score')
  t.ok((await magicAmong({ ...left, lastReadAt: day(9) })) > indifferent, 'begun lately')
})

t.test('recent reading counts more than old', async (t) => {
  const { of } = await openSandbox(t)
  const firstOf = async (space: number, magic: number) => {
    const library = kinds((number) => (number < 2 ? { ...finished, lastReadAt: day(number === 0 ? space : magic) } : {}))
    return kindsOf(await of(library, 1))[0]
  }
  t.equal(await firstOf(0, -700), 'Space')
  t.equal(await firstOf(-700, 0), 'Magic')
})

t.test('one author does not fill the list', async (t) => {
  const { of } = await openSandbox(t)
  // A dozen by the author of the read series; the rest share only its genre.
  const library = kinds((number) => ({
    genres: ['Magic'],
    ...(number < 13 ? { authors: ['Ada'] } : {}),
    ...(number === 0 ? finished : {}),
  }))
  const found = await of(library, 10)
  const byAda = found.filter(({ externalId }) => Number(externalId.slice(-3)) < 13)
  t.equal(Number(found[0]?.externalId.slice(-3)) < 13, true, 'the most similar series is by the same author')
  t.ok(byAda.length >= 1 && byAda.length <= 4, `${byAda.length} of ten`)
  t.equal((await of(library.slice(0, 13), 10)).length, 10, 'without other candidates, all are by the same author')
})

t.test('without a history it recommends popular series, without personal reasons', async (t) => {
  const { of } = await openSandbox(t)
  t.same(await of([]), [])
  t.same(await of([series(1, finished)]), [], 'everything is read')
  t.match(await of([series(1)]), [{ externalId: idOf(1), reason: 'You have not read it yet', basedOn: [] }])

  const readers = await of(kinds((number) => ({ readers: number === 7 ? 30 : number === 10 ? 5 : 0 })))
  t.match(readers.slice(0, 2), [
    { externalId: idOf(7), reason: '30 users of this server have started it', popularity: 30 },
    { externalId: idOf(10), reason: '5 users of this server have started it' },
  ])
  const [rated] = await of(kinds((number) => ({ communityRating: number === 7 ? 91 : number === 2 ? 20 : null })))
  t.match(rated, { externalId: idOf(7), reason: 'Rated 91 out of 100 on average', rating: 91 })
  for (const { reason, basedOn } of await of(kinds())) {
    t.match(reason, /^Popular in this library: (Space|Magic|Crime|Kitchen)/)
    t.same(basedOn, [])
  }
  t.equal(new Set(kindsOf(await of(kinds(), 8))).size, 4, 'something of everything')
})

t.test('words of other languages and scripts are compared too', async (t) => {
  const { of } = await openSandbox(t)
  const texts = [
    '巨人と戦う兵士の物語',
    '巨人が町を襲う',
    '料理人の毎日',
    '학교의 유령',
    '학교에 유령이 산다',
    'дракон и рыцарь',
    'рыцарь ищет дракона',
  ]
  const library = texts.map((summary, number) => series(number, { summary, language: null, authors: [] }))
  const nearest = async (read: number) =>
    (
      await of(
        library.map((entry, number) => (number === read ? { ...entry, ...finished } : entry)),
        1,
      )
    )[0]
  t.match(await nearest(0), { externalId: idOf(1), reason: 'Because you finished Series 0' })
  t.match(await nearest(3), { externalId: idOf(4) })
  t.match(await nearest(5), { externalId: idOf(6) })
})

t.test('the same library gives the same answer in any order', async (t) => {
  const { of } = await openSandbox(t)
  const library = kinds((number) => (number < 3 ? finished : { readers: number % 5 }))
  const found = await of(library, 30)
  t.same(await of(library, 30), found)
  t.same(ids(await of(library.toReversed(), 30)), ids(found))
})

t.test('hostile metadata does no harm', async (t) => {
  const { of, call, get } = await openSandbox(t, { rubbish: true })
  const names = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    ' ',
    '\ud800',
    '\u202e',
    'x'.repeat(1_000),
    '<script>alert(1)</script>',
  ]
  const hostile = Array.from({ length: 60 }, (_, number) =>
    series(number, {
      title: names[number % names.length]!.repeat(number % 7 === 0 ? 50 : 1),
      genres: names,
      tags: Array.from({ length: 300 }, (_, tag) => `${names[tag % names.length]}${tag}`),
      authors: names,
      summary: (names[(number * 3) % names.length] ?? '').repeat(3).slice(0, 1_000),
      bookCount: number % 11 === 0 ? 0 : 1,
      ...(number < 4 ? { booksRead: 1e9, booksStarted: -5, lastReadAt: 'never', rating: 1e308 } : {}),
      ...(number === 5
        ? { communityRating: Number.NaN, addedAt: 'yesterday', readers: -1, status: 'exploded', language: '-'.repeat(5_000) }
        : {}),
    }),
  )
  // Every member may be missing.
  const bare = [{ seriesId: idOf(900) }, { seriesId: idOf(901), genres: null, title: undefined } as unknown as LibraryEntry]
  const found = await of([...hostile, ...bare], 60)
  t.ok(found.length > 40)
  for (const { score, reason } of found) t.ok(score >= 0 && score <= 1 && reason.length < 1_000 && reason !== '')
  for (const id of ['__proto__', 'x'.repeat(200), idOf(7)]) await call('recommendations.dismiss', { externalId: id })
  t.notOk(ids(await get(100)).includes(idOf(7)))
})

t.test('for any history, scores decrease from 1 to 0, without duplicates and without known series', async (t) => {
  const { of } = await openSandbox(t)
  const name = fc.constantFrom('Space', 'Magic', 'Crime', 'Kitchen', 'Love', 'War', '__proto__')
  const seldom = <Value, Usual>(arbitrary: fc.Arbitrary<Value>, usual: Usual) =>
    fc.oneof({ weight: 1, arbitrary }, { weight: 5, arbitrary: fc.constant(usual) })
  const entry = fc.record(
    {
      title: fc.string({ unit: 'grapheme', maxLength: 20 }),
      genres: fc.array(name, { maxLength: 3 }),
      tags: fc.array(name, { maxLength: 5 }),
      authors: fc.array(name, { maxLength: 2 }),
      summary: fc.option(fc.lorem({ maxCount: 20 })),
      bookCount: fc.nat(5),
      booksRead: seldom(fc.nat(5), 0),
      booksStarted: seldom(fc.nat(5), 0),
      rating: seldom(fc.integer({ min: 1, max: 100 }), null),
      communityRating: fc.option(fc.integer({ min: 0, max: 100 })),
      readers: fc.nat(40),
      lastReadAt: fc.option(fc.integer({ min: -900, max: 900 }).map(day)),
      addedAt: fc.integer({ min: -900, max: 900 }).map(day),
    },
    { requiredKeys: ['bookCount'] },
  )
  let seen = 0
  await assertEventually(
    fc.asyncProperty(fc.array(entry, { maxLength: 40, size: 'max' }), fc.integer({ min: 0, max: 60 }), async (given, limit) => {
      const library = given.map((more, number) => series(number, more))
      const byId = new Map(library.map((one) => [one.seriesId, one]))
      const found = await of(library, limit)
      seen += found.length
      const known = (one: LibraryEntry) => (one.booksRead ?? 0) > 0 || (one.booksStarted ?? 0) > 0 || (one.rating ?? null) !== null
      const free = library.filter((one) => !known(one) && (one.bookCount ?? 0) > 0)
      if (found.length !== Math.min(limit, free.length)) throw new Error(`${found.length} of ${free.length}, up to ${limit}`)
      if (new Set(ids(found)).size !== found.length) throw new Error('one comes twice')
      const titles = new Set(library.filter(known).map(({ title }) => (title ?? '').replace(/\s+/g, ' ').trim()))
      for (const [at, { externalId, score, basedOn }] of found.entries()) {
        const one = byId.get(externalId)
        if (one === undefined || known(one)) throw new Error('a known series was recommended')
        if (!(score >= 0 && score <= 1 && score <= (found[at - 1]?.score ?? 1))) throw new Error(`the score ${score} at ${at}`)
        for (const title of basedOn ?? []) if (!titles.has(title)) throw new Error(`${title} was not read`)
      }
    }),
    { numRuns: 150, seed: 42, interruptAfterTimeLimit: 40_000 },
  )
  t.ok(seen > 500, `${seen} recommendations were looked at`)
})

t.test('two users get recommendations by their own taste and visibility', async (t) => {
  const { database, host, install } = await openHostedPlugins(t)
  const { id: pluginId, call } = await install((await getBundledPlugin('similar-in-library')).bytes)
  const [rita, ravi] = [await addCaller(database), await addCaller(database)]
  const library_id = await addLibrary(database)
  const seriesIds: string[] = []
  const books: string[] = []
  const genreIds: string[] = []
  for (const name of KINDS) genreIds.push((await database('genres').insert({ name, name_key: name.toLowerCase() }, 'id'))[0].id)
  for (let number = 0; number < 40; number++) {
    const series_id = await addSeries(database, { library_id, title: `Series ${number}` })
    seriesIds.push(series_id)
    books.push(await addBook(database, { library_id, series_id, title: 'One' }))
    await database('series_metadata').insert({ series_id, summary: WORDS[number % 4] })
    await database('series_genres').insert({ series_id, genre_id: genreIds[number % 4] })
  }
  const read = (userId: string, number: number) =>
    database('read_progress').insert({ user_id: userId, book_id: books[number], current_page: 1, completed: true })
  await read(rita.userId, 0)
  await read(ravi.userId, 1)
  await shareSeries(database, { seriesId: seriesIds[4]!, caller: rita, mode: 'deny' })

  for (const { userId } of [rita, ravi]) await agree(host, database, { pluginId, userId })
  const ask = async (userId: string, method = 'refresh', limit = 5) =>
    ((await call(`recommendations.${method}`, { limit, exclude: [] }, userId)) as unknown as { recommendations: Recommendation[] })
      .recommendations
  const forRita = await ask(rita.userId, 'get')
  t.same(
    kindsOf(forRita),
    Array.from({ length: 5 }, () => 'Space'),
    'also before the first refresh',
  )
  t.equal(forRita[0]?.reason, 'Because you finished Series 0')
  t.same(
    kindsOf(await ask(ravi.userId)),
    Array.from({ length: 5 }, () => 'Magic'),
  )
  t.same(await ask(rita.userId, 'get'), forRita)
  t.equal((await ask(rita.userId, 'refresh', 100)).length, 38)
  t.equal((await ask(ravi.userId, 'refresh', 100)).length, 39)
  t.notOk(ids(await ask(rita.userId, 'get', 100)).includes(seriesIds[4]!), 'what she may not see')

  await call('recommendations.dismiss', { externalId: forRita[0]!.externalId, reason: null }, rita.userId)
  t.notOk(ids(await ask(rita.userId, 'refresh', 100)).includes(forRita[0]!.externalId))
  t.ok(ids(await ask(ravi.userId, 'refresh', 100)).includes(forRita[0]!.externalId), 'hers alone')
})
