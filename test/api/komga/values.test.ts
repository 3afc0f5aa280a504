import t from 'tap'
import { personsOf, rolesBehind, secondsOf, sizeText } from '#api/komga/values.ts'

t.test('moments have no fractions', async (t) => {
  t.equal(secondsOf('2024-02-29T12:00:00.999Z'), '2024-02-29T12:00:00Z')
  t.equal(secondsOf(new Date(0)), '1970-01-01T00:00:00Z')
})

t.test('sizes are for people', async (t) => {
  t.same([0, 1, 1023, 1024, 47_290_000, 3 * 1024 ** 4].map(sizeText), ['0 B', '1 B', '1023 B', '1.0 KiB', '45.1 MiB', '3.0 TiB'])
})

t.test('roles have the names of Komga', async (t) => {
  const people = [
    { name: 'Ada', role: 'author' },
    { name: 'Ada', role: 'writer' },
    { name: 'Bo', role: 'cover_artist' },
    { name: 'Cy', role: 'translator' },
  ]
  t.same(personsOf(people), [
    { name: 'Ada', role: 'writer' },
    { name: 'Bo', role: 'cover' },
    { name: 'Cy', role: 'translator' },
  ])
  t.same(rolesBehind('writer').sort(), ['author', 'co_author', 'writer'])
  t.same(rolesBehind('cover'), ['cover', 'cover_artist'])
  t.same(rolesBehind('author'), [])
})
