import fc from 'fast-check'
import t from 'tap'
import Type from 'typebox'
import { Check } from 'typebox/value'
import { type ListPage, linkHeader, PAGE_SIZE_MAX, Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { endpoint } from '#test/support/route.ts'
import { openTestServer } from '#test/support/server.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const call = (rawQuery: string) => ({ path: '/api/v1/books', rawQuery, setHeader() {} })

t.test('the links of a page', async (t) => {
  const page = (number: number, total: number, rawQuery = '') =>
    paginate(call(rawQuery), { page: number, pageSize: 50 }, { items: [] as string[], total })
  t.same(page(2, 120, 'sort=title%2Casc&page=2&full=true&pageSize=50'), {
    data: [],
    links: {
      self: '/api/v1/books?page=2&pageSize=50&sort=title%2Casc&full=true',
      first: '/api/v1/books?page=1&pageSize=50&sort=title%2Casc&full=true',
      last: '/api/v1/books?page=3&pageSize=50&sort=title%2Casc&full=true',
      next: '/api/v1/books?page=3&pageSize=50&sort=title%2Casc&full=true',
      prev: '/api/v1/books?page=1&pageSize=50&sort=title%2Casc&full=true',
    },
    page: 2,
    pageSize: 50,
    total: 120,
    totalPages: 3,
  })
  t.match(page(1, 0), { totalPages: 0, links: { last: /page=1&/, next: null, prev: null } })
  t.match(page(9, 120), { totalPages: 3, links: { next: null, prev: /page=3&/ } })
  t.equal(
    linkHeader(page(1, 100).links),
    '</api/v1/books?page=1&pageSize=50>; rel="first", </api/v1/books?page=1&pageSize=50>; rel="self", </api/v1/books?page=2&pageSize=50>; rel="next", </api/v1/books?page=2&pageSize=50>; rel="last"',
  )
})

t.test('whatever is asked, the links lead through all pages and keep the other parameters', async (t) => {
  const words = fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), { maxLength: 5 })
  assertInTime(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 2000 }),
      fc.integer({ min: 0, max: 3000 }),
      words,
      (number, size, total, others) => {
        const rest = others
          .filter(([name]) => name !== 'page' && name !== 'pageSize')
          .map(([name, value]) => [name.toWellFormed(), value.toWellFormed()])
        const rawQuery = new URLSearchParams([['page', '7'], ...(rest as [string, string][]), ['pageSize', '3']]).toString()
        const query = { page: number, pageSize: size }
        const { offset, limit } = pageWindow(query)
        const rows = Math.max(0, Math.min(limit, total - offset))
        const result = paginate(call(rawQuery), query, { items: Array(rows).fill(0), total })
        const { links, page, pageSize, totalPages } = result
        const read = (link: string) => new URLSearchParams(link.split('?')[1])
        for (const link of Object.values(links).filter((link) => link !== null)) {
          const given = [...read(link)]
          if (JSON.stringify(given.slice(2)) !== JSON.stringify(rest)) return false
          if (given[0]?.[0] !== 'page' || given[1]?.join() !== `pageSize,${pageSize}`) return false
          if (!/^[\x21-\x7e]+$/.test(link) || /[<>"]/.test(link)) return false
        }
        const last = Math.max(1, totalPages)
        return (
          pageSize === Math.min(size, PAGE_SIZE_MAX) &&
          (links.next === null) === page >= last &&
          (links.prev === null) === (page === 1) &&
          Number(read(links.last).get('page')) === last &&
          (links.next === null || Number(read(links.next).get('page')) === page + 1) &&
          (links.prev === null || Number(read(links.prev).get('page')) === Math.min(page - 1, last)) &&
          totalPages === Math.ceil(total / pageSize) &&
          Check(Paginated(Type.Integer()), result)
        )
      },
    ),
    { numRuns: 500 },
  )
  t.pass('held')
})

t.test('over HTTP: defaults, the cap, refusals, the Link header', async (t) => {
  const ids = Array.from({ length: 1234 }, (_, index) => index)
  const list = endpoint({
    method: 'GET',
    path: '/numbers',
    summary: 'numbers',
    tag: 'test',
    allow: { who: 'public' },
    query: Type.Object({ ...pageQuery, word: Type.Optional(Type.String()) }),
    reply: Paginated(Type.Integer()),
    run: async (call, { query }) => {
      const { offset, limit } = pageWindow(query)
      return paginate(call, query, { items: ids.slice(offset, offset + limit), total: ids.length })
    },
  })
  const server = await openTestServer(t, { routes: [list], admin: false })
  const read = (path: string) => server.request<ListPage<number>>('GET', path)
  t.match((await read('/numbers')).json, { page: 1, pageSize: 50, total: 1234, totalPages: 25 })
  t.equal((await read('/numbers?pageSize=501')).json.pageSize, 500)
  t.match((await read('/numbers?page=9007199254740991')).json, { data: [], links: { next: null } })
  for (const query of ['page=0', 'page=-1', 'pageSize=0', 'page=x', 'page=9007199254740992', 'pageSize=99999999999999999999']) {
    t.equal((await read(`/numbers?${query}`)).status, 400, query)
  }
  const seen: number[] = []
  let next: string | null = '/numbers?pageSize=100&word=a%20b%2Fc'
  while (next !== null) {
    const answer: Awaited<ReturnType<typeof read>> = await read(next)
    seen.push(...answer.json.data)
    next = answer.json.links.next
    if (next) t.match(answer.headers.get('link'), `<${next}>; rel="next"`)
  }
  t.same(seen, ids)
})
