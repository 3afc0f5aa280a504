import fc from 'fast-check'
import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { nextTime, startDue } from '#core/foundation/schedule.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const paths = { cron: '/when', timezone: '/zone' }
const next = (cron: string | null, timezone: string, after: string, minutesApartMin = 5) =>
  nextTime({ cron, timezone, paths, minutesApartMin, of: 'a scan' }, new Date(after))?.toISOString() ?? null

t.test('a time that a clock change skips is later, and one that occurs twice comes once', async (t) => {
  t.equal(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z'), '2026-03-29T01:30:00.000Z', 'there is no half past two')
  t.equal(next('30 2 * * *', 'Europe/Berlin', '2026-03-29T01:30:00Z'), '2026-03-30T00:30:00.000Z')
  const first = next('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z') as string
  t.match(first, /^2026-10-25T0[01]:30/, 'half past two, once or the other time')
  t.equal(next('30 2 * * *', 'Europe/Berlin', first), '2026-10-26T01:30:00.000Z')
  t.equal(next('0 3 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z'), '2026-03-29T01:00:00.000Z', 'three o’clock in summer')
  t.equal(next('0 3 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z'), '2026-10-25T02:00:00.000Z', 'and in winter')
})

t.test('schedules work where the clock changes by half an hour, or by two', async (t) => {
  const [lordHowe, troll] = ['Australia/Lord_Howe', 'Antarctica/Troll']
  t.equal(next('15 1 * * *', lordHowe, '2026-04-04T14:15:00Z'), '2026-04-05T14:45:00.000Z', 'after the clock is put back to half past one')
  t.equal(next('0 2 * * *', lordHowe, '2026-04-03T15:00:00Z'), '2026-04-04T15:30:00.000Z')
  t.equal(
    next('0 2 * * *', lordHowe, '2026-10-02T15:30:00Z'),
    '2026-10-03T15:30:00.000Z',
    'at half past two, because there is no two o’clock',
  )
  t.equal(next('*/30 * * * *', lordHowe, '2026-04-04T14:30:00Z'), '2026-04-04T15:30:00.000Z', 'half past one comes once')
  t.equal(next('0 2 * * *', troll, '2026-03-28T12:00:00Z'), '2026-03-29T02:00:00.000Z')
  t.equal(next('30 1 * * *', troll, '2026-03-28T12:00:00Z'), '2026-03-29T01:30:00.000Z', 'two hours later')
  t.equal(next('30 1 * * *', troll, '2026-10-24T23:30:00Z'), '2026-10-26T01:30:00.000Z')
  t.equal(next('0 3 * * *', '+05:45', '2026-01-01T00:00:00Z'), '2026-01-01T21:15:00.000Z')
})

t.test('the times of a schedule rise, and keep their distance, whatever the zone and the season', async (t) => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
  const crons = fc.constantFrom('*/5 * * * *', '*/20 0-3 * * *', '0 */2 * * *', '30 2 * * *', '45 1,2 * * *', '0 0 * * 0')
  // Before the changes of both halves of the earth.
  const starts = fc.constantFrom('2026-03-07T22:00Z', '2026-03-28T22:00Z', '2026-04-04T12:00Z', '2026-10-03T12:00Z', '2026-10-24T22:00Z')
  const property = fc.property(crons, zones, starts, (cron, zone, start) => {
    let at: string = start
    for (let step = 0; step < 40; step++) {
      const time = next(cron, zone, at) as string
      if (Date.parse(time) - Date.parse(at) < 300_000 || !time.endsWith(':00.000Z')) return false
      at = time
    }
    return true
  })
  assertInTime(property, { numRuns: 60 })
  t.pass()
})

t.test('a schedule that is none, too frequent, or in no time zone is refused with its place', async (t) => {
  t.equal(next(null, 'UTC', '2026-01-01T00:00:00Z'), null)
  for (const cron of [
    '',
    'not a cron',
    '* * * *',
    '0 0 3 * * *',
    '61 * * * *',
    '@daily',
    'H 3 * * *',
    '0 H/3 * * *',
    '* * * * *',
    '*/4 * * * *',
    '0,58 * * * *',
  ])
    t.throws(() => next(cron, 'UTC', '2026-01-01T00:00:00Z'), { code: 'invalid_value', details: [{ path: '/when' }] }, cron)
  t.throws(() => next('*/4 * * * *', 'UTC', '2026-01-01T00:00:00Z'), { message: /a scan may run at most every 5 minutes/ })
  t.throws(() => next('0 3 * * *', 'Mars/Base', '2026-01-01T00:00:00Z'), { code: 'invalid_value', details: [{ path: '/zone' }] })
  t.equal(next('*/5 * * * *', 'UTC', '2026-01-01T00:01:00Z'), '2026-01-01T00:05:00.000Z')
})

t.test('what is due starts and gets its next time; an invalid one fails alone, and one that cannot start yet stays due', async (t) => {
  const said: string[] = []
  const soon = new Date('2030-01-01T00:00:00Z')
  await startDue(['invalid', 'lost', 'busy', 'good'], {
    next: (item) => {
      if (item === 'invalid' || item === 'lost') throw new AppError('invalid_value', 'it is not a schedule')
      return soon
    },
    start: async (item) => item !== 'busy' && said.push(`start ${item}`) > 0,
    advance: async (item, time) => item !== 'lost' && said.push(`${item} ${time?.getUTCFullYear() ?? 'never'}`) > 0,
    fail: async (item, message) => void said.push(`${item}: ${message}`),
  })
  t.same(said, ['invalid never', 'invalid: it is not a schedule', 'start good', 'good 2030'])
})
