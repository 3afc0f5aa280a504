import { renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { purgeDeletedOf } from '#core/ingest/library-work.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { factsOfFile, madeUpAnalysis } from '#test/support/analyses.ts'
import { type House, openHouse, until } from '#test/support/house.ts'

t.setTimeout(240_000)

t.test('purging after a scan spares moved books', async (t) => {
  let release = () => {}
  let gate = Promise.resolve()
  const house: House = await openHouse(t, {
    files: ['a/1.cbz', 'a/2.cbz', 'a/3.cbz'],
    analyze: async ({ path }) => {
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
  t.equal(await ended(), 0, 'two scans of one day are one')
  await passTime(house, 25)
  t.equal(await ended(), 1)
  t.same([...(await house.books()).keys()].sort(), ['a/2.cbz', 'a/moved.cbz'])
})

/** As if all scans so far had run this many hours earlier. */
async function passTime({ database }: House, hours: number, clocks: 'both' | 'wall' = 'both'): Promise<void> {
  const seconds = hours * 3600
  await database('scans').update({
    started_at: database.raw('started_at - make_interval(secs => ?)', [seconds]),
    ...(clocks === 'both' && { boot_seconds: database.raw('boot_seconds - ?', [seconds]) }),
  })
}

async function openPurging(t: Test, count: number): Promise<{ house: House; scan: (options?: { confirm?: boolean }) => Promise<number> }> {
  const house: House = await openHouse(t, {
    files: Array.from({ length: count }, (_, index) => `s/${index}.cbz`),
    analyze: async ({ path }) => madeUpAnalysis({ file: factsOfFile(path) }),
  })
  await house.scan()
  await house.database('libraries').update({ scanning_config: JSON.stringify({ purgeDeletedOnScan: true }) })
  return {
    house,
    async scan(options) {
      const { taskId } = await house.scan('normal', options)
      const task = await until(async () => {
        const { status, result } = await getTask(house.database, taskId as string)
        return (status === 'completed' || status === 'failed') && { purged: (result as { purged: number } | null)?.purged ?? 0 }
      })
      return task.purged
    },
  }
}

t.test('books are purged automatically only after two complete scans found them missing, a day apart', async (t) => {
  const { house, scan } = await openPurging(t, 6)
  const gone = ['s/0.cbz', 's/1.cbz']
  for (const path of gone) unlinkSync(join(house.root, path))
  t.equal(await scan(), 0)
  await passTime(house, 23)
  t.equal(await scan(), 0, 'too early')
  await passTime(house, 24 * 365, 'wall')
  t.equal(await scan(), 0, 'a clock that was set forward is no time that has passed')
  await passTime(house, 24, 'both')

  house.put('s/0.cbz')
  t.equal(await scan(), 1, 'one of them was restored, the other has been missing long enough')
  t.same((await house.books()).get('s/0.cbz')?.deleted_at, null)

  unlinkSync(join(house.root, 's/0.cbz'))
  t.equal(await scan(), 0, 'the count starts again')
})

t.test('most of a library is never purged automatically', async (t) => {
  const { house, scan } = await openPurging(t, 45)
  // In steps that are each too small for the scan's limit.
  for (let index = 0; index < 44; index++) {
    unlinkSync(join(house.root, `s/${index}.cbz`))
    if (index % 11 === 10) await scan()
  }
  await passTime(house, 48)
  t.equal(await scan(), 0)
  t.match(await house.scans.getStatus(house.libraryId), {
    status: 'completed',
    errors: [/44 of 45 books.*purge-deleted/s],
  })
  t.equal((await house.books()).size, 45)
  t.equal(
    await purgeDeletedOf({ database: house.database, dataFolder: house.dataFolder }, house.libraryId),
    44,
    'a person is obeyed at once',
  )
})

t.test('books that a user confirmed as gone are purged like the others', async (t) => {
  const { house, scan } = await openPurging(t, 3)
  for (const index of [0, 1, 2]) unlinkSync(join(house.root, `s/${index}.cbz`))
  t.equal(await scan(), 0)
  await passTime(house, 48)
  t.equal(await scan(), 0)
  t.equal((await house.books()).get('s/0.cbz')?.deleted_at, null, 'nothing is marked without confirmation')
  await scan({ confirm: true })
  t.equal(await scan(), 0)
  await passTime(house, 25)
  t.equal(await scan(), 3)
})
