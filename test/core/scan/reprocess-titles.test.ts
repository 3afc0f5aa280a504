import t from 'tap'
import type { Source } from '#core/fields/field.ts'
import { SERIES_FIELDS } from '#core/fields/series-metadata.ts'
import { applyPatch } from '#core/metadata/apply-patch.ts'
import { readRecords, storeRecords } from '#core/metadata/metadata-record-store.ts'
import { handleReprocessing, reprocessLibraryTitles } from '#core/scan/reprocess-titles.ts'
import { getTask } from '#core/tasks/task-query.ts'
import { openLibraryFixture, until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

t.test('titles follow the current rules, unless they are locked or given by a user', async (t) => {
  const fixture = await openLibraryFixture(t, {
    manual: true,
    files: ['The Boys [HQ]/1.cbz', 'Deep/Saga [HQ]/1.cbz', 'Alone [HQ].cbz', 'Plain/1.cbz'],
  })
  const { database, tasks, libraryId } = fixture
  handleReprocessing({ database, tasks, rules: findRules() })
  await tasks.start()
  for (const name of ['Locked', 'Theirs', 'File']) fixture.put(`${name} [HQ]/1.cbz`)
  await fixture.scan()
  const give = async (path: string, patch: Record<string, unknown>, source: Source, lock?: string) =>
    await database.transaction(async (trx) => {
      const { id } = await trx('series').where({ path }).first('id')
      const record = (await readRecords(trx, 'series', [id])).get(id)
      if (!record) throw new Error(path)
      const { next } = applyPatch(SERIES_FIELDS, record, patch, source)
      await storeRecords(trx, 'series', new Map([[id, { ...next, locks: new Set(lock ? [lock] : []) }]]))
    })
  await give('Locked [HQ]', { year: 2000 }, 'embedded', 'title')
  await give('Theirs [HQ]', { title: 'The Named' }, 'user')
  await give('File [HQ]', { title: 'From the file' }, 'embedded')
  await give('Deep/Saga [HQ]', { titleSort: 'Zaga' }, 'user')
  const rules = [
    { pattern: ' \\[.*\\]$', replacement: '' },
    { pattern: '^Plain$', replacement: 'The Plain' },
  ]
  await database('libraries').update({ title_preprocessing_rules: JSON.stringify(rules) })
  const titles = async () =>
    (await database('series').orderBy('path').select('path', 'title', 'title_sort')).map(({ path, title, title_sort }) => [
      path,
      title,
      title_sort,
    ])
  const caller = await addCaller(database)
  const run = async (dryRun: boolean) => {
    const { taskIds, tasksEnqueued, success } = await reprocessLibraryTitles({ database, tasks }, caller, { libraryId, dryRun })
    t.match([taskIds.length, tasksEnqueued, success], [1, 1, true])
    return await until(async () => {
      const task = await getTask(database, taskIds[0] as string)
      if (task.status === 'failed') throw new Error(task.lastError ?? '')
      return task.status === 'completed' ? (task.result as { results: unknown[] }) : null
    })
  }
  const before = await titles()
  const asked = await run(true)
  t.match(asked, { dryRun: true, processed: 7, changed: 4, skipped: 3 })
  t.same(await titles(), before, 'asking what would change changes nothing')

  const done = await run(false)
  t.match(done, { dryRun: false, processed: 7, changed: 4, skipped: 3 })
  t.same(done.results, asked.results, 'the results match the dry run')
  t.match(
    done.results.find((result) => (result as { newTitle: string }).newTitle === 'The Boys'),
    { originalTitle: 'The Boys [HQ]', changed: true, skipped: false, skipReason: null },
  )
  t.same(
    new Set((await titles()).map((row) => row.join(' | '))),
    new Set([
      'Alone [HQ].cbz | Alone | ',
      'Deep/Saga [HQ] | Saga | Zaga',
      'File [HQ] | From the file | ',
      'Locked [HQ] | Locked [HQ] | ',
      'Plain | The Plain | Plain, The',
      'The Boys [HQ] | The Boys | Boys, The',
      'Theirs [HQ] | The Named | Named, The',
    ]),
  )

  const stamps = () => database('series').orderBy('path').pluck('updated_at')
  const stamped = await stamps()
  t.match(await run(false), { processed: 7, changed: 0, skipped: 3, results: [] })
  t.same(await stamps(), stamped, 'correct titles are not written')

  await database('libraries').update({ title_preprocessing_rules: null })
  await run(false)
  t.same(
    (await titles()).find(([path]) => path === 'Plain'),
    ['Plain', 'Plain', null],
    'without rules the folder has its word again',
  )
})
