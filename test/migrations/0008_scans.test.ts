import t from 'tap'
import { migrate } from '#core/database/database.ts'
import { down, up } from '#migrations/0008_scans.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addLibrary } from '#test/support/library-rows.ts'

t.test('schedules that were stored before are due; the way back loses only the plan', async (t) => {
  const { database } = await openTestDatabase(t, { empty: true })
  await migrate(database)
  const config = { enabled: true, scanMode: 'normal', cronSchedule: '0 3 * * *' }
  const ids = [await addLibrary(database), await addLibrary(database), await addLibrary(database)]
  await database.transaction(down)
  await database('libraries').where('id', ids[0]).update({ scanning_config: config })
  await database('libraries')
    .where('id', ids[1])
    .update({ scanning_config: { ...config, enabled: false } })
  await database.transaction(up)
  t.same(await database('libraries').whereNotNull('next_scan_at').pluck('id'), [ids[0]])
})
