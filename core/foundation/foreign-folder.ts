/** With one of the marks `@ # ~ $` before them: what Synology, QNAP, Asustor, TerraMaster, NetApp, TrueNAS and Windows keep. */
export const MARKED_FOLDERS: readonly string[] = [
  'recycle',
  'recycled',
  'recycler',
  'recycle.bin',
  'recycle bin',
  'recyclebin',
  'trash',
  'usb-recycle',
  'tmp',
  'temp',
  'quarantine',
  'snapshot',
  'snapshots',
  'recently-snapshot',
  'sharesnap',
  'sharebin',
  'SynoSnap',
  'ActiveBackup',
  's2s',
  'eaDir',
  '__thumb',
  'thumb',
  'transcode',
  'upload_cache',
  'img_bkp_cache',
  'database',
  'SynoFinder-log',
  'SynoDrive',
  'synologydrive',
  'appstore',
  'appconf',
  'appdata',
  'apphome',
  'appshare',
  'apptemp',
  'autoupdate',
  'extend',
]

/**
 * Without a mark; `trashbox` is of Buffalo, `DfsrPrivate` and `FileHistory` of Windows, `Backups.backupdb` of Time Machine, `files_trashbin` and
 * `files_versions` of Nextcloud, `_gsdata_`, `_SYNCAPP` and `$SBV$` of GoodSync, Allway Sync and SyncBack. Names with a leading dot (.Trash-1000, .AppleDouble, .@__thumb, .snapshot, .zfs) are foreign too.
 */
export const PLAIN_FOLDERS: readonly string[] = [
  'System Volume Information',
  'RECYCLER',
  'RECYCLED',
  'lost+found',
  'trashbox',
  '__MACOSX',
  'Network Trash Folder',
  'Temporary Items',
  'TheVolumeSettingsFolder',
  'TheFindByContentFolder',
  'recycle.bin',
  'recycle bin',
  'recyclebin',
  'DfsrPrivate',
  'FileHistory',
  'Backups.backupdb',
  'files_trashbin',
  'files_versions',
  '_gsdata_',
  '_SYNCAPP',
  '$SBV$',
]

/** What Windows puts into folders that somebody opens. */
export const SYSTEM_FILES: readonly string[] = ['Thumbs.db', 'ehthumbs.db', 'ehthumbs_vista.db', 'desktop.ini']

const lower = (names: readonly string[]) => new Set(names.map((name) => name.toLowerCase()))
const [MARKED, PLAIN, FILES] = [lower(MARKED_FOLDERS), lower(PLAIN_FOLDERS), lower(SYSTEM_FILES)]
const MARK = /^[@#~$]/
/** A snapshot under the name that Windows sees: @GMT-2026.11.01-00.00.00. */
const DATED_SNAPSHOT = /^@?gmt[+-]\d/

/** Whether a file or folder is hidden by its name. Titles may begin with an ellipsis: "...And Justice for All". */
export const isHiddenName = (name: string): boolean => /^\.(?:[^.]|\.?$)/s.test(name)

/** Downloads that have not ended, as browsers and download programs name them; files of programs that have a document open; deleted files in use. */
const INCOMPLETE = /\.(?:part|partial|filepart|crdownload|opdownload|download|!qb|!ut|bc!|tmp)$|^~\$|^\.(?:fuse_hidden|nfs)/i

export const isIncompleteName = (name: string): boolean => INCOMPLETE.test(name)

/**
 * Whether systems, NAS devices or programs keep a folder of this name beside those of users: for indexes, thumbnails, deleted files, and snapshots, which contain
 * every book once more. Nothing in it is a book or a page.
 */
export function isForeignFolder(name: string): boolean {
  if (isHiddenName(name)) return true
  const key = name.toLowerCase()
  return PLAIN.has(key) || (MARK.test(key) && MARKED.has(key.slice(1))) || DATED_SNAPSHOT.test(key)
}

/** Whether a folder with these names in it holds nothing of its users: systems leave theirs in one that was emptied, or where a disk is not mounted. */
export const holdsNothing = (names: readonly string[]): boolean =>
  names.every((name) => isForeignFolder(name) || FILES.has(name.toLowerCase()))
