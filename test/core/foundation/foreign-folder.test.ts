import { readFileSync } from 'node:fs'
import t from 'tap'
import { holdsNothing, isForeignFolder, MARKED_FOLDERS, PLAIN_FOLDERS, SYSTEM_FILES } from '#core/foundation/foreign-folder.ts'

t.test('folders of systems and NAS devices', async (t) => {
  for (const name of [
    '#snapshot',
    '#SNAPSHOT',
    '#recycle',
    '@eaDir',
    '@Recycle',
    '@Recently-Snapshot',
    '@tmp',
    '~snapshot',
    '~snapshots',
    '@snapshots',
    '$RECYCLE.BIN',
    '@GMT-2026.11.01-00.00.00',
    'GMT+00-2026.11.01-00.00.00',
    'System Volume Information',
    'lost+found',
    'trashbox',
    '__MACOSX',
    '.@__thumb',
    '.AppleDouble',
    '.Trash-1000',
    '.snapshot',
    '.zfs',
    'DfsrPrivate',
    '_gsdata_',
    'Backups.backupdb',
    'files_trashbin',
    'files_versions',
    'Recycle Bin',
    'RecycleBin',
    '#RecycleBin',
    '$SBV$',
  ])
    t.ok(isForeignFolder(name), name)
})

t.test('folders of users are told from those of the system', async (t) => {
  for (const name of [
    '#Blessed',
    '@Home',
    '~',
    '$',
    '#',
    '@',
    '#1',
    'snapshot',
    'Recycle',
    'tmp',
    'Temp',
    '#snapshot of a life',
    'GMT',
    'eaDir',
    '$9.99',
    '###',
    'files',
    'Backups',
    'The Recycle Bin',
    'File History',
  ])
    t.notOk(isForeignFolder(name), name)
})

t.test('a folder holds nothing when only systems have left something in it', async (t) => {
  for (const names of [[], ['.DS_Store'], ['@eaDir'], ['#recycle', 'Thumbs.db', 'DESKTOP.INI'], ['lost+found', '.Trash-1000']])
    t.ok(holdsNothing(names), names.join())
  for (const names of [['1.cbz'], ['@eaDir', 'Vol 1'], ['notes.txt'], ['...And Justice for All.cbz'], ['thumbs.db.cbz']])
    t.notOk(holdsNothing(names), names.join())
})

t.test('the documents list all of them', async (t) => {
  const page = readFileSync(new URL('../../../docs/files.md', import.meta.url), 'utf8')
  for (const name of [...MARKED_FOLDERS, ...PLAIN_FOLDERS, ...SYSTEM_FILES]) t.ok(page.includes(`\`${name}\``), name)
})
