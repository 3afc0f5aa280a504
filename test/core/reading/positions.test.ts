import fc from 'fast-check'
import t from 'tap'
import { countPositions, locateText, partAt, pathsOfHref, positionWithin } from '#core/reading/positions.ts'
import { encodeHref, type Publication } from '#core/reading/publication.ts'
import { relativeAddresses } from '#core/reading/web-publication.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const addresses = relativeAddresses('manifest')
const publicationOf = (counts: readonly number[]) =>
  ({ spine: counts.map((positions, index) => ({ path: `c/${index}.xhtml`, mediaType: 'text/html', positions })) }) as unknown as Publication

t.test('a position converts to its part and the place in it, and back', async () => {
  assertInTime(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }), fc.nat(), (counts, pick) => {
      const publication = publicationOf(counts)
      const total = countPositions(publication)
      const position = (pick % total) + 1
      const locator = locateText(publication, position, addresses)
      const { path: item = '', before = -1, positions = 0 } = partAt(publication, position) ?? {}
      const { progression = -1, position: told, totalProgression = -1 } = locator.locations ?? {}
      const path = pathsOfHref(locator.href)[0] as string
      const wrong =
        told !== position ||
        positionWithin(publication, { item: path, progression: progression + 1e-9 }) !== position ||
        item !== path ||
        positionWithin(publication, { item, progression: 1 }) !== before + positions ||
        positionWithin(publication, { item, progression: 0 }) !== before + 1 ||
        Math.floor(totalProgression * total + 1e-6) + 1 !== position
      if (wrong) throw new Error(JSON.stringify({ counts, position, locator }))
    }),
  )
})

t.test('positions past the end, and in unknown parts', async (t) => {
  const publication = publicationOf([2, 3])
  t.match(locateText(publication, 99, addresses), { href: 'resource/c/1.xhtml', locations: { position: 5 } })
  t.equal(positionWithin(publication, { item: 'none', progression: 0 }), null)
  t.match(partAt(publication, 99), { index: 1 })
})

t.test('addresses of links are encoded, and read with what programs add', async (t) => {
  t.equal(encodeHref('a b/c#%41 ü'), 'a%20b/c#%41%20%C3%BC')
  t.equal(encodeHref('a#100%'), 'a#100%25')
  t.same(pathsOfHref('http://h/api/v1/books/1/resource/OPS/resource/x%20y.xhtml?v=1#f')[0], 'OPS/resource/x y.xhtml')
  t.same(pathsOfHref('../../etc/passwd'), ['etc/passwd'])
})
