import fc from 'fast-check'
import t from 'tap'
import type { Announcement } from '#core/events/event.ts'
import { EventWindow } from '#core/events/window.ts'

const announcementOf = (id: string): Announcement => ({
  id,
  event: { type: 'library_deleted', libraryId: id, timestamp: '2026-01-31T12:00:00.000Z' },
})

t.test('a reconnecting client finds the next events, or that its last event is not kept any more', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 25_000 }), fc.integer({ min: 1, max: 2_000 }), (count, length) => {
      const window = new EventWindow('first')
      for (let index = 1; index <= count; index += 1) window.add(announcementOf(`e${index}`), length)
      if (window.end !== count || window.end - window.start > 10_000) return false
      for (const seen of [0, 1, count >> 1, count - 1, count].filter((place) => place >= 0 && place <= count)) {
        const id = seen === 0 ? 'first' : `e${seen}`
        const place = window.find(id)
        if (seen < window.start ? place !== null : place !== seen || window.idAt(place) !== id) return false
        if (place !== null && window.slice(place, window.end).length !== count - seen) return false
      }
      return true
    }),
    { numRuns: 20 },
  )
})

t.test('a removed event is not found', async (t) => {
  const window = new EventWindow('first')
  window.add(announcementOf('a'), 1)
  window.clear('second')
  t.same([window.find('first'), window.find('a'), window.find('second'), window.start, window.end, window.epoch], [null, null, 1, 1, 1, 1])
  window.add(announcementOf('b'), 1)
  t.same([window.idAt(1), window.idAt(2), window.slice(1, 2).map(({ id }) => id)], ['second', 'b', ['b']])
})
