import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'tap'
import { writeCoverFiles } from '#core/covers/chosen-cover-files.ts'
import { announceCover } from '#core/covers/chosen-cover-store.ts'
import { clearCoverOrphans } from '#core/covers/clear-cover-orphans.ts'
import { coverPath } from '#core/covers/cover.ts'
import { openShelves, picture } from '#test/support/shelves.ts'

const drawn = { width: 1, height: 1, jpeg: new Uint8Array([1]) }

test('what a killed server left of covers is removed, and nothing else', async (t) => {
  const { ask, upload, one, two, batman, saga, other, database, dataFolder } = await openShelves(t)
  const files = () =>
    ['covers', 'thumbnails']
      .flatMap((folder) => readdirSync(join(dataFolder, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  const clear = () => clearCoverOrphans({ database, dataFolder })

  for (const path of [`series/${batman}`, `series/${saga}`, `books/${two}`, `books/${other}`])
    await upload(`/api/v1/${path}/cover`, picture('image/jpeg'))
  const dropped = (await upload(`/api/v1/books/${other}/cover`, picture('image/png'))).json.id
  t.equal((await ask('DELETE', `/api/v1/books/${other}/covers/${dropped}`)).status, 204)
  t.equal(files().length, 9)
  t.equal(await clear(), 0, 'all files are in use, or were removed at once')

  // An upload that has written only its files.
  const half = '00000000-0000-4000-8000-00000000000a'
  await announceCover(database, { kind: 'series', id: saga }, half)
  await writeCoverFiles(
    dataFolder,
    { kind: 'series', id: saga },
    { id: half, drawn: { large: drawn, small: { ...drawn, color: '#804020' } } },
  )
  t.equal(await clear(), 0, 'the upload may still be running')
  await database('cover_orphans').update({ due_at: new Date() })
  t.equal(await clear(), 1)
  t.equal(files().length, 9)

  // The rows were deleted before the server was killed; a book that was never in this database has a file that the database does not know.
  const strange = coverPath(dataFolder, '00000000-0000-4000-8000-00000000000b')
  mkdirSync(dirname(strange), { recursive: true })
  writeFileSync(strange, 'x')
  writeFileSync(`${coverPath(dataFolder, one)}.tmp`, 'half')
  await database('series').where('id', batman).delete()
  t.equal(await clear(), 3, 'the series and its two books')
  t.same(
    files().filter((path) => [one, two, batman].some((id) => path.includes(id))),
    [],
  )
  t.ok(existsSync(strange), 'the database may have been restored: unknown files are not its own')
  t.equal(files().length, 5)
  t.equal((await ask('GET', `/api/v1/series/${saga}/thumbnail`)).status, 200)
  t.same(await database('cover_orphans'), [])
})

test('what the disk refuses to remove now is removed later', async (t) => {
  const { upload, two, saga, batman, database, dataFolder } = await openShelves(t)
  await upload(`/api/v1/series/${saga}/cover`, picture('image/jpeg'))
  // A folder where a file should be is not removed as one, not even by root.
  const inTheWay = coverPath(dataFolder, two)
  mkdirSync(inTheWay, { recursive: true })
  await database('series').whereIn('id', [batman, saga]).delete()
  t.equal(await clearCoverOrphans({ database, dataFolder }), 4, 'two series and two of three books')
  t.notOk(existsSync(join(dataFolder, 'covers', 'series', saga.slice(0, 2), saga)))
  rmdirSync(inTheWay)
  t.equal(await clearCoverOrphans({ database, dataFolder }), 1)
  t.same(await database('cover_orphans'), [])
})
