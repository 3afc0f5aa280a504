import fc from 'fast-check'
import t from 'tap'
import { AREA_MAX, areaTopOf, scrollArea, shiftAfter, shiftAt } from '../../../../../web/src/pages/browse/scroll-area.ts'

const areas = fc.record({ content: fc.integer({ min: 1, max: 60_000_000 }), view: fc.integer({ min: 300, max: 3_000 }) })

t.test('a list that browsers can hold scrolls by its own height', (t) => {
  const whole = scrollArea(AREA_MAX, 1_000)
  t.equal(whole.area, AREA_MAX)
  t.equal(shiftAt(5_000_000, whole), 0)
  t.equal(areaTopOf(5_000_000, whole), 5_000_000)
  t.end()
})

t.test('the area of a longer list is capped, and its ends show the ends of the list', (t) => {
  const whole = scrollArea(15_000_000, 1_000)
  t.equal(whole.area, AREA_MAX)
  t.equal(shiftAt(0, whole), 0)
  t.equal(whole.area - whole.view + shiftAt(whole.area - whole.view, whole), whole.content - whole.view)
  t.end()
})

t.test('the place of the area for a place of the content is the inverse of the shift', (t) => {
  fc.assert(
    fc.property(areas, fc.double({ min: 0, max: 1, noNaN: true }), ({ content, view }, part) => {
      const whole = scrollArea(content, view)
      const place = part * Math.max(0, content - view)
      const top = areaTopOf(place, whole)
      return top >= 0 && top <= whole.area && Math.abs(top + shiftAt(top, whole) - place) < 1
    }),
  )
  t.end()
})

t.test('dragging further never shows an earlier place', (t) => {
  fc.assert(
    fc.property(
      areas,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      ({ content, view }, a, b) => {
        const whole = scrollArea(content, view)
        const [first, second] = [a, b].map((part) => part * Math.max(0, whole.area - view)).sort((x, y) => x - y) as [number, number]
        return first + shiftAt(first, whole) <= second + shiftAt(second, whole) + 0.001
      },
    ),
  )
  t.end()
})

t.test('a wheel moves by exact pixels, a drag of the scroll bar maps, and both ends are reached', (t) => {
  const whole = scrollArea(15_000_000, 1_000)
  t.equal(shiftAfter(123, { from: 2_000_000, to: 2_000_120 }, whole), 123)
  t.equal(shiftAfter(123, { from: 2_000_000, to: 4_000_000 }, whole), shiftAt(4_000_000, whole))
  t.equal(shiftAfter(123, { from: 100, to: 0 }, whole), 0)
  t.equal(shiftAfter(123, { from: whole.area - 1_100, to: whole.area - 1_000 }, whole), whole.content - whole.area)
  t.end()
})
