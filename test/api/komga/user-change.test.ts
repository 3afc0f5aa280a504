import t from 'tap'
import { NEW_USER, readUserEdit, usernameOf } from '#api/komga/user-change.ts'

t.test('what apps say of a new user', async (t) => {
  t.same(readUserEdit({}, NEW_USER), {})
  const all = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
  t.same(readUserEdit({ roles: all, sharedLibraries: { all: true, libraryIds: [] }, ageRestriction: null }, NEW_USER), {})
  t.same(readUserEdit({ roles: [...all, 'admin', 'USER', 'KOREADER_SYNC'] }, NEW_USER), { role: 'admin' })
  t.same(readUserEdit({ ageRestriction: { age: 0, restriction: 'NONE' }, labelsAllow: [] }, NEW_USER), {})
  t.same(readUserEdit({ labelsAllow: ['kids'], labelsExclude: ['adults'] }, NEW_USER), { labelsAllow: ['kids'], labelsExclude: ['adults'] })
})

t.test('a restriction that cannot be kept is refused with a sentence', async (t) => {
  const refused: [Parameters<typeof readUserEdit>[0], RegExp][] = [
    [{ roles: ['FILE_DOWNLOAD'] }, /leaves out PAGE_STREAMING: everybody/],
    [{ roles: [] }, /leaves out FILE_DOWNLOAD and PAGE_STREAMING/],
    [{ roles: ['FILE_DOWNLOAD', 'PAGE_STREAMING', 'KOBO_SYNC'] }, /holds "KOBO_SYNC", which is no role here/],
    [{ sharedLibraries: { all: false, libraryIds: [] } }, /sharedLibraries cannot keep a user to some libraries/],
    [{ sharedLibraries: { libraryIds: ['a'] } }, /sharedLibraries cannot/],
    [{ ageRestriction: { age: 12, restriction: 'ALLOW_ONLY' } }, /ageRestriction cannot be kept/],
    [{ ageRestriction: { age: 18 } }, /ageRestriction cannot be kept/],
  ]
  for (const [edit, message] of refused)
    t.throws(() => readUserEdit(edit, NEW_USER), { code: 'invalid_value', message }, JSON.stringify(edit))
})

t.test('what is said as it was shown changes nothing', async (t) => {
  const admin = { roles: ['ADMIN', 'USER'], labelsAllow: ['a', 'b'], labelsExclude: [] }
  t.same(readUserEdit({ roles: ['USER', 'ADMIN'], labelsAllow: ['b', 'a'], labelsExclude: null }, admin), {})
  t.same(readUserEdit({ roles: ['USER'], labelsAllow: [] }, admin), { role: 'reader', labelsAllow: [] })
})

t.test('names of users', async (t) => {
  t.equal(usernameOf('ann@example.org'), 'ann')
  t.equal(usernameOf('"a b"@c@example.org'), '"a-b"-c')
  t.equal(usernameOf(`${'x'.repeat(200)}@example.org`).length, 100)
})
