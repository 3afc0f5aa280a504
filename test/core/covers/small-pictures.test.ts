import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSmallPicture } from '#core/covers/small-pictures.ts'
import { until } from '#test/support/library-fixture.ts'

t.test('a picture is read once, and a file that goes or changes is noticed within seconds', async (t) => {
  const path = join(t.testdir({}), 'cover.jpg')
  t.equal(await readSmallPicture({ path, etag: 'a' }), null, 'no file')
  writeFileSync(path, 'one')
  // Two files that are written in one millisecond have the same time.
  utimesSync(path, 1_700_000_000, 1_700_000_000)
  const first = await readSmallPicture({ path, etag: 'a' })
  t.equal(Buffer.from(first?.bytes ?? []).toString(), 'one')
  t.equal((await readSmallPicture({ path, etag: 'a' }))?.bytes, first?.bytes, 'from memory')
  writeFileSync(path, 'two')
  t.equal(Buffer.from((await readSmallPicture({ path, etag: 'b' }))?.bytes ?? []).toString(), 'two', 'other content has another tag')
  t.ok(await until(async () => Buffer.from((await readSmallPicture({ path, etag: 'a' }))?.bytes ?? []).toString() === 'two'))
  rmSync(path)
  t.ok(await until(async () => (await readSmallPicture({ path, etag: 'b' })) === null))
  await t.rejects(readSmallPicture({ path: t.testdirName, etag: 'c' }), { code: 'EISDIR' })
})
