import t from 'tap'
import { askDiskOf, isSilence, mountOf } from '#core/foundation/mounts.ts'

t.test('a path belongs to the longest place above it where something is mounted', { skip: process.platform !== 'linux' }, async (t) => {
  t.equal(await mountOf('/proc/self/fd'), '/proc')
  t.equal(await mountOf('/proc'), '/proc')
  t.equal(await mountOf('/procession/of/books'), '/')
  t.equal(await mountOf('/'), '/')
})

t.test('a call for a folder answers, and fails, like any other', async (t) => {
  t.equal(await askDiskOf('/proc/self', async () => 1), 1)
  const gone = Object.assign(new Error('gone'), { code: 'ENOENT' })
  await t.rejects(
    askDiskOf('/proc/self', () => Promise.reject(gone)),
    { code: 'ENOENT' },
  )
  t.equal(isSilence(gone), false)
  t.equal(isSilence(Object.assign(gone, { code: 'ETIMEDOUT' })), true)
})
