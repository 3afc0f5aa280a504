import t from 'tap'
import { bytesLabel, dayLabel, durationLabel, percentLabel, whenLabel } from '../../../../../web/src/reader/shared/labels.ts'

t.test('bytes and parts are written with their unit', async (t) => {
  t.equal(bytesLabel(412_300), '412\u202fKB')
  t.equal(bytesLabel(1_840_000), '1.8\u202fMB')
  t.equal(percentLabel(0.324), '32\u202f%')
})

t.test('a time is named by its day, and older or future ones by their date', async (t) => {
  const now = new Date(2026, 10, 24, 12, 0).getTime()
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour, 40).toISOString()
  t.match(whenLabel(at(23, 21), now), /^yesterday, /)
  t.match(whenLabel(at(24, 8), now), /^today, /)
  t.match(whenLabel(at(4, 8), now), /November 4, 2026|4 November 2026/)
  t.match(whenLabel(at(30, 8), now), /2026/, 'a device with a wrong clock')
})

t.test('a duration is shown in minutes, and from ten hours on in hours', async (t) => {
  t.equal(durationLabel(20), '1 min')
  t.equal(durationLabel(9 * 60), '9 min')
  t.equal(durationLabel(130 * 60), '2h 10 min')
  t.equal(durationLabel(3600), '1h')
  t.equal(durationLabel(12.4 * 3600), '12h')
})

t.test('a day is shown without its time', async (t) => {
  t.match(dayLabel(new Date(2026, 10, 24, 12).toISOString()), /^(November 24, 2026|24 November 2026)$/)
})
