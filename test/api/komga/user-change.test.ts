import t from 'tap'
import { NEW_USER, readUserEdit, usernameOf } from '#api/komga/user-change.ts'

t.test('edits of a new user', async (t) => {
  t.same(readUserEdit({}, NEW_USER), {})
  const all = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
  t.same(readUserEdit({ roles: all, sharedLibraries: { all: true, libraryIds: [] }, ageRestriction: null }, NEW_USER), {})
  t.same(readUserEdit({ roles: [...all, 'admin', 'USER', 'KOREADER_SYNC'] }, NEW_USER), { role: 'admin' })
  t.same(readUserEdit({ ageRestriction: { age: 0, restriction: 'NONE' }, labelsAllow: [] }, NEW_USER), {})
  t.same(readUserEdit({ labelsAllow: ['kids'], labelsExclude: ['adults'] }, NEW_USER), { labelsAllow: ['kids'], labelsExclude: ['adults'] })
})

t.test('a restriction that the server does not have is refused with a sentence', async (t) => {
  const refused: [Parameters<typeof readUserEdit>[0], RegExp][] = [
    [{ roles: ['FILE_DOWNLOAD'] }, /lacks PAGE_STREAMING: every user/],
    [{ roles: [] }, /lacks FILE_DOWNLOAD and PAGE_STREAMING/],
    [
      { roles: ['FILE_DOWNLOAD', 'PAGE_STREAMING', 'KOBO_SYNC'] },
      /contains "KOBO_SYNC", which is no role of this server; the roles are ADMIN/,
    ],
    [{ sharedLibraries: { all: false, libraryIds: [] } }, /sharedLibraries cannot restrict a user to some libraries/],
    [{ sharedLibraries: { libraryIds: ['a'] } }, /sharedLibraries cannot/],
    [{ ageRestriction: { age: 12, restriction: 'ALLOW_ONLY' } }, /ageRestriction is not supported/],
    [{ ageRestriction: { age: 18 } }, /ageRestriction is not supported/],
  ]
  for (const [edit, message] of refused)
    t.throws(() => readUserEdit(edit, NEW_USER), { code: 'invalid_value', message }, JSON.stringify(edit))
})

t.test('a member that equals what was shown changes nothing', async (t) => {
  const admin = { roles: ['ADMIN', 'USER'], labelsAllow: ['a', 'b'], labelsExclude: [] }
  t.same(readUserEdit({ roles: ['USER', 'ADMIN'], labelsAllow: ['b', 'a'], labelsExclude: null }, admin), {})
  t.same(readUserEdit({ roles: ['USER'], labelsAllow: [] }, admin), { role: 'reader', labelsAllow: [] })
})

t.test('a username is made of an e-mail address', async (t) => {
  t.equal(usernameOf('ann@example.org'), 'ann')
  t.equal(usernameOf('"a b"@c@example.org'), '"a-b"-c')
  t.equal(usernameOf(`${'x'.repeat(200)}@example.org`).length, 100)
})
