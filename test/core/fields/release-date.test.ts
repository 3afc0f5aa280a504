import fc from 'fast-check'
import t from 'tap'
import { dayOf, issuedOf } from '#core/fields/release-date.ts'

t.test('a date is as precise as known', async (t) => {
  t.equal(issuedOf({ year: 2019, month: 7, day: 24 }), '2019-07-24')
  t.equal(issuedOf({ year: 2019, month: 7, day: null }), '2019-07')
  t.equal(issuedOf({ year: 2019, month: null, day: 24 }), '2019')
  t.equal(issuedOf({ year: 2019, month: 2, day: 29 }), '2019-02', 'a day that did not exist')
  t.equal(issuedOf({ year: 2024, month: 2, day: 29 }), '2024-02-29')
  t.equal(issuedOf({ year: 33, month: 4, day: 3 }), '0033-04-03')
  for (const year of [null, 0, -500, 10_000]) t.equal(issuedOf({ year, month: 1, day: 1 }), null, `${year}`)
})

t.test('the result is a date that begins with the known members', async () => {
  const part = fc.option(fc.integer({ min: -2, max: 40 }))
  fc.assert(
    fc.property(fc.integer({ min: -20, max: 12_000 }), part, part, (year, month, day) => {
      const issued = issuedOf({ year, month, day })
      if (issued === null) return year < 1 || year > 9999
      const whole = dayOf(issued)
      return (
        /^\d{4}-\d{2}-\d{2}$/.test(whole) && new Date(`${whole}T00:00:00Z`).toISOString().slice(0, 10) === whole && whole.startsWith(issued)
      )
    }),
  )
})
