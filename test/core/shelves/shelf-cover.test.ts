import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { clearCoverOrphans } from '#core/covers/clear-cover-orphans.ts'
import { removeOrphans } from '#core/maintenance/orphans.ts'
import { type ShelfOwner, shelfCovers } from '#core/shelves/shelf-cover.ts'
import { addShelf, removeShelf } from '#core/shelves/shelf-store.ts'
import { addCaller, shareSeries } from '#test/support/library-rows.ts'
import { openShelves, picture } from '#test/support/shelves.ts'
import { drawCover } from '#workers/images/image.ts'

test('covers of a shelf are seen by those who see the shelf, and their files go with it', async (t) => {
  const { database, dataFolder, batman, saga, one } = await openShelves(t)
  const dependencies = { database, drawCover, settings: { dataFolder } }
  const [editor, hidden] = [await addCaller(database, { role: 'admin' }), await addCaller(database, { role: 'admin' })]
  await shareSeries(database, { seriesId: batman, caller: hidden, mode: 'deny' })
  const files = () => readdirSync(join(dataFolder, 'covers'), { recursive: true }).filter((name) => String(name).endsWith('.jpg'))

  for (const [kind, memberIds] of [
    ['collection', [batman]],
    ['read_list', [one]],
  ] as const) {
    const { id } = await addShelf(database, editor, kind, { name: kind, memberIds })
    const owner: ShelfOwner = { kind, id }
    const { id: coverId } = await shelfCovers.upload(dependencies, editor, { owner, bytes: picture('image/png') })
    t.match(await shelfCovers.list(dependencies, editor, owner), [{ id: coverId, is_selected: true, source: 'custom' }])
    for (const [name, attempt] of Object.entries<() => Promise<unknown>>({
      list: () => shelfCovers.list(dependencies, hidden, owner),
      upload: () => shelfCovers.upload(dependencies, hidden, { owner, bytes: picture('image/png') }),
      choose: () => shelfCovers.choose(dependencies, hidden, { owner, coverId: null }),
      remove: () => shelfCovers.remove(dependencies, hidden, { owner, coverId }),
      file: () => shelfCovers.file(dependencies, hidden, { owner, coverId }),
    }))
      await t.rejects(async () => void (await attempt()), { code: 'not_found' }, `${kind} ${name}`)
    t.equal(files().length, 2)
    t.equal(await clearCoverOrphans({ database, dataFolder }), 0, 'its files are in use')
    t.match(await removeOrphans({ database, dataFolder }, { signal: new AbortController().signal, progress: () => {} }), { covers: 0 })
    await removeShelf(database, editor, kind, id)
    t.equal(await clearCoverOrphans({ database, dataFolder }), 1)
    t.equal(files().length, 0)
    t.same(await database('covers'), [])
  }

  const { id } = await addShelf(database, editor, 'collection', { name: 'Both', memberIds: [batman, saga] })
  const { updatedAt } = (await database('collections').where({ id }).first('updated_at AS updatedAt')) as { updatedAt: Date }
  await shelfCovers.upload(dependencies, hidden, { owner: { kind: 'collection', id }, bytes: picture('image/jpeg') })
  const after = (await database('collections').where({ id }).first('updated_at')) as { updated_at: Date }
  t.ok(after.updated_at > updatedAt, 'clients see that the shelf changed')
})
