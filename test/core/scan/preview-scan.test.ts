import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { previewScan } from '#core/scan/preview-scan.ts'
import { countHangingThreads, walk } from '#core/scan/walk.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { addCaller } from '#test/support/library-rows.ts'
import { findRules } from '#test/support/supervisor.ts'

t.setTimeout(60_000)

t.test('few previews run at the same time, and none starts while disks do not answer', async (t) => {
  const { database } = await openTestDatabase(t)
  const folder = mkdtempSync(join(tmpdir(), 'carrel-previews-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'Saga'))
  writeFileSync(join(folder, 'Saga', 'Saga 1.cbz'), '')
  const parts = { database, rules: findRules(), settings: { dataFolder: '/nonexistent' } }
  const callers = { ada: await addCaller(database), bo: await addCaller(database), cleo: await addCaller(database) }
  const preview = (user: keyof typeof callers, path = folder) =>
    previewScan(parts, { caller: callers[user], folder: path }, new AbortController().signal)

  const codesOf = (all: PromiseSettledResult<unknown>[]) => all.map((one) => (one.status === 'rejected' ? one.reason.code : 'done'))
  const began = (['ada', 'ada', 'ada', 'bo', 'bo', 'cleo'] as const).map((user) => preview(user))
  t.same(codesOf(await Promise.allSettled(began)), ['done', 'done', 'rate_limit_exceeded', 'done', 'done', 'unavailable'])
  // Threads that are not needed any more end a moment later.
  await until(() => countHangingThreads() === 0)
  await t.rejects(preview('ada', join(folder, 'nowhere')), { code: 'invalid_value' }, 'what fails gives its place back')
  t.same(codesOf(await Promise.allSettled([preview('ada'), preview('ada'), preview('cleo')])), ['done', 'done', 'done'])

  // An abandoned thread counts until it has ended, which takes a moment here, and forever in a call to a dead drive.
  const stop = new AbortController()
  const options = { root: folder, excludedPatterns: null, allowedFormats: null, known: new Map<string, string>() }
  const left = Array.from({ length: 5 }, () => walk(options, stop.signal).next())
  stop.abort()
  await Promise.allSettled(left)
  t.ok(countHangingThreads() > 4, String(countHangingThreads()))
  await t.rejects(preview('ada'), { code: 'unavailable', message: /does not answer/ })
  await until(() => countHangingThreads() === 0)
  t.match(await preview('ada'), { totalFiles: 1 })
})
