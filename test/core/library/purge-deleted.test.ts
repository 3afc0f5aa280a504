import { renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { getTask } from '#core/task/task-query.ts'
import { factsOfFile, madeUpAnalysis } from '#test/support/analyses.ts'
import { type House, openHouse, until } from '#test/support/house.ts'

t.setTimeout(60_000)

t.test('purging after a scan spares the books that moved', async (t) => {
  let release = () => {}
  let gate = Promise.resolve()
  const house: House = await openHouse(t, {
    files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz'],
    analyse: async ({ path }) => {
      await gate
      return madeUpAnalysis({ file: factsOfFile(path) })
    },
  })
  await house.scan()
  await house.database('libraries').update({ scanning_config: JSON.stringify({ purgeDeletedOnScan: true }) })
  const { id } = (await house.books()).get('a/1.cbz') ?? { id: '' }
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  t.teardown(() => release())
  renameSync(join(house.root, 'a/1.cbz'), join(house.root, 'a/moved.cbz'))
  unlinkSync(join(house.root, 'a/3.cbz'))
  const ended = async () => {
    const { taskId } = await house.scans.start(house.libraryId)
    await until(async () => (await getTask(house.database, taskId)).status === 'completed')
    return ((await getTask(house.database, taskId)).result as { purged: number }).purged
  }
  t.equal(await ended(), 0)
  t.equal(await ended(), 0, 'nor does a later scan while the new file waits for its analysis')
  t.equal((await house.books()).get('a/1.cbz')?.id, id)
  release()
  await until(async () => (await house.books()).get('a/moved.cbz')?.state === 'analyzed')
  t.equal((await house.books()).get('a/moved.cbz')?.id, id)
  t.equal(await ended(), 1)
  t.same([...(await house.books()).keys()].sort(), ['a/2.cbz', 'a/moved.cbz'])
})
