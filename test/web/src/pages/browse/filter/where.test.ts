import t from 'tap'
import { readBrowseAddress } from '../../../../../../web/src/pages/browse/browse-address.ts'
import { newGroup, newLine, writeDraft } from '../../../../../../web/src/pages/browse/filter/draft.ts'
import { changeOf, draftOf, isTooLong, whereOf, withoutPart } from '../../../../../../web/src/pages/browse/filter/where.ts'

const line = (field: string, value: string) => ({ ...newLine('books', field), values: [value] })

t.test('chips of an address are lines of the builder, and simple lines become chips again', (t) => {
  const address = readBrowseAddress('books', 'show=unread&genre=Drama&where={"pageCount":{"operator":"gt","value":100}}')
  const draft = draftOf('books', address)
  t.same(writeDraft('books', draft).condition, {
    allOf: [
      { readStatus: { operator: 'is', value: 'unread' } },
      { genre: { operator: 'is', value: 'Drama' } },
      { pageCount: { operator: 'gt', value: 100 } },
    ],
  })
  t.match(changeOf('books', draft), { show: 'unread', genre: 'Drama', tag: null, where: '{"pageCount":{"operator":"gt","value":100}}' })
  t.end()
})

t.test('a second value of a chip, and groups of another kind, stay in the condition', (t) => {
  const two = changeOf('books', newGroup('all', [line('tag', 'Sea'), line('tag', 'Fog')]))
  t.match(two, { tag: 'Sea', where: '{"tag":{"operator":"is","value":"Fog"}}' })
  const any = changeOf('books', newGroup('any', [line('tag', 'Sea'), line('genre', 'Drama')]))
  t.match(any, { tag: null, genre: null })
  const back = draftOf('books', readBrowseAddress('books', `where=${encodeURIComponent(any.where ?? '')}`))
  t.equal(back.join, 'any')
  t.equal(withoutPart('books', back, back.parts[0]?.id ?? 0), '{"genre":{"operator":"is","value":"Drama"}}')
  t.equal(withoutPart('books', back, back.id), null)
  t.end()
})

t.test('the chip of a year is a comparison of the builder, and only one with a whole year becomes a chip again', (t) => {
  const draft = draftOf('series', readBrowseAddress('series', 'year=1999'))
  t.same(writeDraft('series', draft).condition, { year: { operator: 'eq', value: 1999 } })
  t.match(changeOf('series', draft), { year: '1999', where: null })
  const of = (operator: string, low: string) => changeOf('series', newGroup('all', [{ ...newLine('series', 'year'), operator, low }]))
  t.match(of('gt', '1999'), { year: null, where: '{"year":{"operator":"gt","value":1999}}' })
  t.match(of('eq', '-44'), { year: null, where: '{"year":{"operator":"eq","value":-44}}' })
  t.end()
})

t.test('an address with nonsense has no condition, and conditions that are too long for one are found', (t) => {
  for (const bad of ['', '{', '[]', '{"a":1}', 'null']) t.equal(whereOf('books', bad), null, bad)
  const many = newGroup(
    'any',
    Array.from({ length: 40 }, (_, at) => line('tag', `${at}`.repeat(100))),
  )
  t.ok(isTooLong(changeOf('books', many)))
  t.notOk(isTooLong(changeOf('books', newGroup('any', [line('tag', 'Sea')]))))
  t.end()
})
