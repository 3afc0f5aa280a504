import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { nextTime, startDue } from '#core/foundation/schedule.ts'

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

t.test('a schedule that is none, too frequent, or in no time zone is refused with its place', async (t) => {
  t.equal(next(null, 'UTC', '2026-01-01T00:00:00Z'), null)
  for (const cron of ['', 'not a cron', '* * * *', '0 0 3 * * *', '61 * * * *', '@daily', '* * * * *', '*/4 * * * *', '0,58 * * * *'])
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
