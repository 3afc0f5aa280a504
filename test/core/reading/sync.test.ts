import t from 'tap'
import type { OpenPublication } from '#core/reading/packed-publication.ts'
import { positionOfDocument } from '#core/reading/sync.ts'

const comic = { analyzed: true, pageCount: 20 }
const text = { analyzed: true, pageCount: 100, isText: true }
const publication = { spine: [{ positions: 10 }, { positions: 50 }, { positions: 40 }] } as unknown as OpenPublication

t.test('a page is the same place for KOReader and for Carrel', async (t) => {
  t.match(positionOfDocument(comic, { progress: '7', percentage: 0.35 }, null), { currentPage: 7, percentage: 0.35, completed: false })
  t.match(positionOfDocument(comic, { progress: '20', percentage: 1 }, null), { currentPage: 20, completed: true })
  for (const progress of ['99', '0', '-1', 'x', ''])
    t.match(
      positionOfDocument(comic, { progress, percentage: 0.5 }, null),
      { currentPage: 10 },
      'without a page number, the percentage counts',
    )
  t.match(positionOfDocument({ analyzed: false, pageCount: 0 }, { progress: '3', percentage: 1 }, null), {
    currentPage: 3,
    completed: false,
  })
})

t.test('e-readers lay out an EPUB made of pictures as a text', async (t) => {
  t.match(positionOfDocument(comic, { progress: '/body/DocFragment[7].0', percentage: 0.3 }, null), { currentPage: 7, percentage: 0.3 })
  t.match(positionOfDocument(comic, { progress: '/body/DocFragment/body/img', percentage: 0 }, null), { currentPage: 1 })
  t.match(positionOfDocument(comic, { progress: '/body/DocFragment[20].0', percentage: 0.99 }, null), { currentPage: 20, completed: true })
  t.match(positionOfDocument(comic, { progress: '/body/DocFragment[21].0', percentage: 0.5 }, null), { currentPage: 10 }, 'no part of it')
})

t.test('a place in a text is the same for KOReader and for Carrel', async (t) => {
  const at = (progress: string, percentage: number) => positionOfDocument(text, { progress, percentage }, publication)
  t.match(at('/body/DocFragment[2]/body/p[3]/text().0', 0.3), { currentPage: 31, percentage: 0.3, completed: false })
  t.match(at('/body/DocFragment[1]/body/p', 0.3), { currentPage: 10 }, 'the part counts more than the percentage')
  t.match(at('/body/DocFragment[3].0', 0.3), { currentPage: 61 })
  t.match(at('/body/DocFragment[9].0', 0.3), { currentPage: 31 }, 'a part that is not there')
  t.match(at('#_doc_fragment_1', 0), { currentPage: 1 })
  t.match(at('/body/DocFragment[3].0', 0.995), { completed: true })
})

t.test('e-readers count each reference to a part', async (t) => {
  const twice = { ...publication, references: [0, 1, 0, 2] }
  const at = (number: number) => positionOfDocument(text, { progress: `/body/DocFragment[${number}].0`, percentage: 0 }, twice).currentPage
  t.same([1, 2, 3, 4].map(at), [1, 11, 1, 61])
})
