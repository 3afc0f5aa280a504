import t from 'tap'
import { type KomgaUserEdit as Edit, NEW_USER, readUserEdit, usernameOf } from '#api/komga/user-change.ts'

const ALL = ['FILE_DOWNLOAD', 'PAGE_STREAMING']
const KIDS = '7a1b0000-0000-4000-8000-000000000001'
const COMICS = '7a1b0000-0000-4000-8000-000000000002'

t.test('edits of a new user', async (t) => {
  t.same(readUserEdit({}, NEW_USER), {})
  t.same(readUserEdit({ roles: ALL, sharedLibraries: { all: true, libraryIds: [] }, ageRestriction: null }, NEW_USER), {})
  t.same(readUserEdit({ roles: [...ALL, 'admin', 'USER', 'KOREADER_SYNC'] }, NEW_USER), { role: 'admin' })
  t.same(readUserEdit({ ageRestriction: { age: 0, restriction: 'NONE' }, labelsAllow: [] }, NEW_USER), {})
  t.same(readUserEdit({ labelsAllow: ['kids '], labelsExclude: ['adults', 'Adults'] }, NEW_USER), {
    labelsAllow: ['kids'],
    labelsExclude: ['adults'],
  })
})

t.test('libraries and ages are read as rules', async (t) => {
  const libraries = (given: NonNullable<Edit['sharedLibraries']>) => readUserEdit({ sharedLibraries: given }, NEW_USER).libraries
  t.same(libraries({ all: false, libraryIds: [KIDS, KIDS.toUpperCase()] }), { allLibraries: false, libraryIds: [KIDS] })
  t.same(libraries({ libraryIds: [KIDS] }), { allLibraries: false, libraryIds: [KIDS] })
  t.same(libraries({ all: false }), { allLibraries: false, libraryIds: [] }, 'none')
  t.equal(libraries({ all: true, libraryIds: [KIDS] }), undefined, 'all of them, as it is')
  t.equal(libraries({}), undefined)
  const age = (age: number, restriction: string) => readUserEdit({ ageRestriction: { age, restriction } }, NEW_USER).age
  t.same(age(12, 'ALLOW_ONLY'), { mode: 'up_to', years: 12 })
  t.same(age(18, 'exclude'), { mode: 'not_from', years: 18 })
  t.same(age(0, 'ALLOW_ONLY'), { mode: 'up_to', years: 0 })
})

t.test('a restriction that the server does not have is refused with a sentence', async (t) => {
  const refused: [Edit, RegExp][] = [
    [{ roles: ['FILE_DOWNLOAD'] }, /lacks PAGE_STREAMING: every user/],
    [{ roles: [] }, /lacks FILE_DOWNLOAD and PAGE_STREAMING/],
    [{ roles: [...ALL, 'KOBO_SYNC'] }, /contains "KOBO_SYNC", which is no role of this server; the roles are ADMIN/],
    [{ sharedLibraries: { all: false, libraryIds: ['a'] } }, /sharedLibraries\/libraryIds has "a", which is no library/],
    [{ ageRestriction: { age: 18 } }, /ageRestriction\/restriction must be ALLOW_ONLY, EXCLUDE or NONE/],
    [{ ageRestriction: { age: 18, restriction: 'BELOW' } }, /restriction must be/],
    [{ ageRestriction: { restriction: 'EXCLUDE' } }, /ageRestriction\/age must be a whole number from 0 to 99/],
    [{ ageRestriction: { age: -1, restriction: 'EXCLUDE' } }, /age must be/],
    [{ ageRestriction: { age: 100, restriction: 'ALLOW_ONLY' } }, /age must be/],
    [{ ageRestriction: { age: 12.5, restriction: 'ALLOW_ONLY' } }, /age must be/],
    [{ labelsAllow: [' '] }, /labelsAllow\/0 is empty/],
  ]
  for (const [edit, message] of refused)
    t.throws(() => readUserEdit(edit, NEW_USER), { code: 'invalid_value', message }, JSON.stringify(edit))
})

t.test('a member that is absent or equals what was shown changes nothing', async (t) => {
  const shown = {
    roles: ['ADMIN', 'USER'],
    ...{ sharedAllLibraries: false, sharedLibrariesIds: [KIDS, COMICS] },
    ageRestriction: { age: 12, restriction: 'ALLOW_ONLY' as const },
    ...{ labelsAllow: ['a', 'b'], labelsExclude: [] },
  }
  const same: Edit = {
    roles: ['USER', 'ADMIN'],
    sharedLibraries: { all: false, libraryIds: [COMICS, KIDS] },
    ageRestriction: { age: 12, restriction: 'ALLOW_ONLY' },
    ...{ labelsAllow: ['b', 'a'], labelsExclude: null },
  }
  t.same(readUserEdit(same, shown), {})
  t.same(readUserEdit({}, shown), {})
  t.same(readUserEdit({ roles: ['USER'], labelsAllow: [] }, shown), { role: 'reader', labelsAllow: [] })
  t.same(readUserEdit({ labelsAllow: null, ageRestriction: null }, shown), { labelsAllow: [], age: null }, 'null removes')
  t.same(readUserEdit({ ageRestriction: { age: 12, restriction: 'NONE' } }, shown), { age: null })
  t.same(readUserEdit({ ageRestriction: { age: 12, restriction: 'EXCLUDE' } }, shown), { age: { mode: 'not_from', years: 12 } })
  t.same(readUserEdit({ sharedLibraries: null }, shown), {})
  t.same(readUserEdit({ sharedLibraries: { all: true } }, shown), { libraries: { allLibraries: true, libraryIds: [] } })
  t.same(readUserEdit({ sharedLibraries: { libraryIds: [KIDS] } }, shown), { libraries: { allLibraries: false, libraryIds: [KIDS] } })
})

t.test('a username is made of an e-mail address', async (t) => {
  t.equal(usernameOf('ann@example.org'), 'ann')
  t.equal(usernameOf('"a b"@c@example.org'), '"a-b"-c')
  t.equal(usernameOf(`${'x'.repeat(200)}@example.org`).length, 100)
})
