import fc from 'fast-check'
import t from 'tap'
import { readInstant } from '#core/foundation/instant.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const iso = (text: string) => readInstant(text)?.toISOString() ?? null

t.test('valid times, however unusual', async (t) => {
  const cases: [text: string, utc: string][] = [
    ['2026-01-02T10:00:00Z', '2026-01-02T10:00:00.000Z'],
    ['2026-01-02t10:00:00z', '2026-01-02T10:00:00.000Z'],
    ['2026-01-02T10:00:00+14:00', '2026-01-01T20:00:00.000Z'],
    ['2026-01-02T10:00:00-12:00', '2026-01-02T22:00:00.000Z'],
    ['2026-01-02T10:00:00+23:59', '2026-01-01T10:01:00.000Z'],
    ['2026-01-02T10:00:00-00:00', '2026-01-02T10:00:00.000Z'],
    ['2026-01-02T10:00:00+05:30', '2026-01-02T04:30:00.000Z'],
    ['2026-01-02T10:00:00+0530', '2026-01-02T04:30:00.000Z'],
    ['2026-01-02T10:00:00.1Z', '2026-01-02T10:00:00.100Z'],
    ['2026-01-02T10:00:00.123456789Z', '2026-01-02T10:00:00.123Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2017-01-01T05:29:60.5+05:30', '2017-01-01T00:00:00.500Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ]
  for (const [text, utc] of cases) t.equal(iso(text), utc, text)
})

t.test('texts that are not a time in the years 1 to 9999', async (t) => {
  const cases = [
    '',
    'now',
    '2026-01-02',
    '2026-01-02T10:00:00',
    '2026-01-02 10:00:00Z',
    '2026-01-02T10:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T10:60:00Z',
    '2026-01-02T10:00:61Z',
    '2026-01-02T10:00:60Z',
    '2026-02-29T10:00:00Z',
    '2026-00-01T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-01-02T10:00:00+24:00',
    '2026-01-02T10:00:00+5',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '9999-12-31T23:59:60Z',
    '10000-01-01T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    '2026-01-02T10:00:00Z\n',
  ]
  for (const text of cases) t.equal(iso(text), null, JSON.stringify(text))
})

t.test('times that programs write are parsed exactly', async () => {
  const dates = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  assertInTime(
    fc.property(dates, (date) => {
      if (iso(date.toISOString()) !== date.toISOString()) throw new Error(date.toISOString())
    }),
  )
})
