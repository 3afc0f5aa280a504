import fc from 'fast-check'
import t from 'tap'
import { komgaPage, readWindow } from '#api/komga/page-object.ts'

t.test('a page is complete, and its members agree', async (t) => {
  const ask = fc.record({ page: fc.integer({ min: -5, max: 50 }), size: fc.integer({ min: -5, max: 2_000 }), unpaged: fc.boolean() })
  fc.assert(
    fc.property(ask, fc.integer({ min: 0, max: 3_000 }), (asked, total) => {
      const window = readWindow(asked)
      const count = Math.max(0, Math.min(window.limit, total - window.offset))
      const page = komgaPage(window, { content: [], count, total })
      t.ok(page.size >= 1 && (page.size <= 1_000 || page.pageable.unpaged))
      t.equal(page.pageable.paged, !page.pageable.unpaged)
      t.equal(page.totalPages, Math.ceil(total / page.size))
      t.equal(page.empty, page.numberOfElements === 0)
      t.equal(page.first, page.number === 0)
      t.equal(page.last, page.number >= page.totalPages - 1)
      t.equal(page.sort.sorted, !page.sort.unsorted)
    }),
    { numRuns: 100 },
  )
})

t.test('what is asked for', async (t) => {
  t.match(readWindow({}), { page: 0, size: 20, offset: 0, limit: 20, sorted: false })
  t.match(readWindow({ page: 3, size: 1_000, sort: ['name,asc'] }), { offset: 3_000, limit: 1_000, sorted: true })
  t.match(readWindow({ page: -1, size: 0 }), { page: 0, size: 20 }, 'as Spring has it')
  t.match(readWindow({ size: 5_000 }), { size: 1_000 })
  t.match(readWindow({ page: 4, size: 7, unpaged: true }), { page: 0, offset: 0, limit: 10_000 })
})
