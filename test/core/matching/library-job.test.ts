import t from 'tap'
import { FIELD_GROUPS, jobFieldsOf, nextRun } from '#core/matching/library-job.ts'
import { proposable } from '#core/matching/proposal.ts'

t.test('schedules of five fields, in a time zone, across clock changes', async (t) => {
  const after = (text: string) => new Date(text)
  const cases: [cron: string, zone: string, after: string, next: string][] = [
    ['30 3 * * *', 'UTC', '2026-01-01T00:00:00Z', '2026-01-01T03:30:00Z'],
    ['30 3 * * *', 'UTC', '2026-01-01T03:30:00Z', '2026-01-02T03:30:00Z'],
    ['0 3 * * 1', 'Europe/Berlin', '2026-01-01T00:00:00Z', '2026-01-05T02:00:00Z'],
    ['*/15 * * * *', 'UTC', '2026-01-01T00:01:00Z', '2026-01-01T00:15:00Z'],
    ['0 3 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', '2026-10-25T02:00:00Z'],
  ]
  for (const [cron, zone, from, next] of cases)
    t.equal(nextRun(cron, zone, after(from))?.toISOString(), after(next).toISOString(), `${cron} ${zone} ${from}`)
  t.ok(
    (nextRun('30 2 * * *', 'Europe/Berlin', after('2026-03-28T12:00:00Z')) as Date) < after('2026-03-30T00:00:00Z'),
    'an hour that a clock change skips',
  )
  t.equal(nextRun(null, 'UTC', new Date()), null)
  for (const cron of ['', '* * * *', '0 0 3 * * *', '61 * * * *', 'every day', '@daily', '*/5 * * * *', '* * * * *'])
    t.throws(() => nextRun(cron, 'UTC', new Date()), { code: 'invalid_value', details: [{ path: '/cronSchedule' }] }, cron)
  t.throws(() => nextRun('0 3 * * *', 'Mars/Olympus', new Date()), { code: 'invalid_value', details: [{ path: '/timezone' }] })
})

t.test('how often a job runs does not depend on the current time', async (t) => {
  const refused = { code: 'invalid_value', message: /15 minutes/ }
  for (const at of ['2026-05-04T03:58:30Z', '2026-05-04T03:02:00Z', '2026-05-04T10:00:00Z', '2026-05-04T23:59:00Z']) {
    const now = new Date(at)
    for (const often of ['0-59 3 * * *', '0,5 3 * * *', '*/10 3 1 1 *', '0,50 3,4 * * *', '50,0 23,0 * * *', '* * * * *', '0,59 * * * 1'])
      t.throws(() => nextRun(often, 'UTC', now), refused, `${often} at ${at}`)
    for (const fine of ['0 3 * * *', '*/15 * * * *', '0,30 3 * * *', '0,50 3,5 * * *', '0 0 29 2 *'])
      t.ok((nextRun(fine, 'UTC', now) as Date) > now, `${fine} at ${at}`)
  }
})

t.test('groups contain only fields that can be proposed, and together contain all of them', async (t) => {
  const all = new Set([...proposable('series'), ...proposable('book')])
  for (const { id, fields } of FIELD_GROUPS) for (const field of fields) t.ok(all.has(field), `${id}: ${field}`)
  const config = { type: 'metadata_refresh', provider: 'x' } as const
  t.equal(jobFieldsOf(config), null)
  t.same(jobFieldsOf({ ...config, fieldGroups: ['genres'], extraFields: ['summary', 'genres'] }), ['genres', 'summary'])
  t.throws(() => jobFieldsOf({ ...config, extraFields: ['passwords'] }), { code: 'invalid_value' })
  const both = { ...config, fieldGroups: ['genres' as const], bookFieldGroups: ['tags' as const], bookExtraFields: ['summary'] }
  t.same(
    [jobFieldsOf(both), jobFieldsOf(both, 'book')],
    [['genres'], ['tags', 'subjects', 'summary']],
    'books may have fields of their own',
  )
  t.same(jobFieldsOf({ ...config, fieldGroups: ['genres'], bookFieldGroups: [] }, 'book'), ['genres'], 'otherwise those of series')
  t.throws(() => jobFieldsOf({ ...config, bookExtraFields: ['passwords'] }), {
    code: 'invalid_value',
    details: [{ path: '/config/bookExtraFields' }],
  })
})
