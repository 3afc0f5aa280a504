import { performance } from 'node:perf_hooks'
import { FILLED_TAGS, filledLibrary } from '#bench/fill-books.ts'
import type { FilledServer } from '#bench/lists/filled-server.ts'
import { timeRequest } from '#bench/lists/timed-request.ts'
import { median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'

/** Three of twenty libraries, without a quarter of their series by age, and without two tags. */
const RULE = {
  allLibraries: false,
  libraryIds: [1, 2, 3].map(filledLibrary),
  age: { mode: 'not_from', years: 16, unrated: 'show' },
  sharingTags: FILLED_TAGS.map((sharingTagId) => ({ sharingTagId, accessMode: 'deny' })),
}
const PAGE = 50
const RATIO_MAX = 1.5
/** How long a change of a rule may take until a list shows it. */
const EFFECT_MS_MAX = 500

interface Reader {
  headers: Record<string, string>
  books: number
}

interface Asked {
  path: string
  body?: object
}

/** A list that both read. */
interface Case {
  ask: (reader: Reader, n: number) => Asked
  /** Changes the catalog before each request, so that nothing is remembered. */
  anew: boolean
  /** Of both in a round. */
  requests: number
}

const FEW = 4
const MANY = 40
const middle = ({ books }: Reader, n: number) => ({ path: `books?page=${Math.round((books / PAGE) * 0.6) - (n % 100)}` })
const search = (list: 'books' | 'series', words: string) => () => ({ path: `${list}/list`, body: { fullTextSearch: words } })
const CASES: Record<string, Case> = {
  'first page': { ask: () => ({ path: 'books' }), anew: true, requests: MANY },
  'middle pages': { ask: middle, anew: false, requests: MANY },
  'middle page, first time': { ask: middle, anew: true, requests: FEW },
  'total of books': { ask: () => ({ path: 'books?pageSize=1' }), anew: true, requests: MANY },
  'total of series': { ask: () => ({ path: 'series?pageSize=1' }), anew: true, requests: MANY },
  'series with counts': { ask: () => ({ path: 'series' }), anew: true, requests: MANY },
  'common word, first time': { ask: search('books', 'dragon'), anew: true, requests: FEW },
  'rare word': { ask: search('books', 'quokka'), anew: true, requests: MANY },
  'series by a word': { ask: search('series', 'Garden'), anew: true, requests: MANY },
}

/** Lists of a user with rules beside those of one without, in turn; and how soon a change of a rule shows. */
export async function compareRestricted(side: FilledServer, rounds: number): Promise<void> {
  const [free, ruled] = [await addReader(side), await addReader(side)]
  await setRule(side, ruled.id, RULE)
  const readers: Record<'free' | 'ruled', Reader> = {
    free: { headers: free.headers, books: await totalOf(side, free.headers) },
    ruled: { headers: ruled.headers, books: await totalOf(side, ruled.headers) },
  }
  console.log(`a user with rules sees ${readers.ruled.books} of ${readers.free.books} books`)
  const table: Record<string, Record<string, number>> = {}
  for (const [name, each] of Object.entries(CASES)) {
    const times = await timesOf(side, readers, each, rounds)
    table[name] = {
      'without ms': median(times.free),
      'with rules ms': median(times.ruled),
      ratio: median(times.ruled) / median(times.free),
    }
  }
  console.table(table)
  for (const [name, row] of Object.entries(table))
    verdict(`${name} with rules, ratio to without`, row['ratio'] as number, { atMost: RATIO_MAX })
  await measureChanges(side, readers, ruled.id)
}

async function timesOf(side: FilledServer, readers: Record<'free' | 'ruled', Reader>, { ask, anew, requests }: Case, rounds: number) {
  const times = { free: [] as number[], ruled: [] as number[] }
  // The first round fills caches.
  for (let n = -requests; n < requests * rounds; n++)
    for (const who of n % 2 === 0 ? (['free', 'ruled'] as const) : (['ruled', 'free'] as const)) {
      if (anew) await side.client.query('UPDATE libraries SET name = name WHERE id = $1', [filledLibrary(1)])
      const { ms } = await send(side, readers[who].headers, ask(readers[who], n + requests))
      if (n >= 0) times[who].push(ms)
    }
  return times
}

async function measureChanges(side: FilledServer, readers: Record<'free' | 'ruled', Reader>, ruledId: string): Promise<void> {
  const first = { path: 'books' }
  const effects: number[] = []
  const others: number[] = []
  await send(side, readers.free.headers, first)
  for (let n = 0; n < 20; n++) {
    const before = await totalOf(side, readers.ruled.headers)
    const at = performance.now()
    await setRule(side, ruledId, n % 2 === 0 ? { ...RULE, age: null } : RULE)
    if ((await totalOf(side, readers.ruled.headers)) === before) throw new Error('A change of a rule did not show in the next list.')
    effects.push(performance.now() - at)
    others.push((await send(side, readers.free.headers, first)).ms)
  }
  verdict('a change of a rule, ms until a list shows it', Math.max(...effects), { atMost: EFFECT_MS_MAX })
  // After a change that is no rule, and a list that is not remembered either: the first request after those is slower by itself.
  const again: number[] = []
  for (let n = 0; n < 20; n++) {
    await change(side, 'PATCH', `users/${ruledId}`, { email: `bench-${ruledId}-${n}@example.org` })
    await send(side, readers.ruled.headers, { path: `books?pageSize=1&page=${n + 2}` })
    again.push((await send(side, readers.free.headers, first)).ms)
  }
  verdict('the first page of others after it, ratio to after a change that is no rule', median(others) / median(again), {
    atMost: RATIO_MAX,
  })
}

async function addReader({ server }: FilledServer): Promise<{ id: string; headers: Record<string, string> }> {
  const username = `bench-${process.hrtime.bigint()}`
  const password = 'Correct-horse-1'
  const { id } = await server.post<{ id: string }>('/api/v1/users', {
    username,
    password,
    email: `${username}@example.org`,
    role: 'reader',
  })
  const { accessToken } = await server.post<{ accessToken: string }>('/api/v1/auth/login', { username, password })
  return { id, headers: { authorization: `Bearer ${accessToken}` } }
}

const setRule = (side: FilledServer, userId: string, rule: object) => change(side, 'PUT', `users/${userId}/access`, rule)

async function change({ server }: FilledServer, method: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers: { ...server.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${method} ${path} was refused: ${answer.status} ${await answer.text()}`)
}

const send = ({ server }: FilledServer, headers: Record<string, string>, { path, body }: Asked) =>
  timeRequest(`${server.url}/api/v1/${path}`, headers, body)

const totalOf = async (side: FilledServer, headers: Record<string, string>): Promise<number> =>
  (JSON.parse((await send(side, headers, { path: 'books?pageSize=1' })).text) as { total: number }).total
