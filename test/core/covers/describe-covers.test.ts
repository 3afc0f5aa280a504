import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { coverPath } from '#core/covers/cover.ts'
import { requestCoverDescriptions } from '#core/covers/describe-covers.ts'
import { until } from '#test/support/library-fixture.ts'
import { openLibraryServer } from '#test/support/library-server.ts'
import { jpegPage } from '#test/support/pictures.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(120_000)

t.test('sizes and colors of covers that are older than their columns are stored by a task, once', async (t) => {
  const comic = async (width: number) => buildZip([{ name: '1.jpg', data: await jpegPage({ width, height: 900 }) }])
  const { database, services, folder, ended } = await openLibraryServer(t, {
    'One/1.cbz': await comic(600),
    'One/2.cbz': await comic(500),
    'One/3.cbz': await comic(400),
  })
  const columns = ['id', 'cover_hash', 'cover_width', 'cover_height', 'cover_color']
  const shown = async () => await database('books').orderBy('path').select(columns)
  const before = await shown()
  t.match(before[0], { cover_width: 267, cover_height: 400, cover_color: /^#[0-9a-f]{6}$/ })
  await requestCoverDescriptions({ database, tasks: services.tasks })
  const tasks = () => database('tasks').where('type', 'describe_covers').orderBy('created_at').select('id')
  t.same(await tasks(), [], 'nothing to do')

  const old = { cover_width: null, cover_height: null, cover_color: null }
  await database('books').update(old)
  const [, , third] = before
  const lost = coverPath(folder, third.id)
  const bytes = readFileSync(lost)
  writeFileSync(lost, 'no picture')
  const times = await database('books').orderBy('id').pluck('updated_at')
  await requestCoverDescriptions({ database, tasks: services.tasks })
  const [{ id }] = await tasks()
  t.match(await ended(id), { status: 'completed', result: { described: 2, failed: 1 } })
  t.same(await shown(), [before[0], before[1], { ...third, ...old }])
  t.same(await database('books').orderBy('id').pluck('updated_at'), times, 'the records are not other ones')
  writeFileSync(lost, bytes)
  await requestCoverDescriptions({ database, tasks: services.tasks })
  await until(async () => (await tasks()).length === 2)
  t.match(await ended((await tasks())[1].id), { status: 'completed', result: { described: 1, failed: 0 } })
  t.same(await shown(), before)
})
