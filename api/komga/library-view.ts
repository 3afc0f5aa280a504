import type { Static } from 'typebox'
import Type from 'typebox'
import { formatsOfProfile, type MediaProfile } from '#api/komga/media-profile.ts'
import type { Library } from '#core/catalog/library.ts'
import { Nullable } from '#core/foundation/schema.ts'

const FLAGS = [
  'importComicInfoBook',
  'importComicInfoSeries',
  'importComicInfoCollection',
  'importComicInfoReadList',
  'importComicInfoSeriesAppendVolume',
  'importEpubBook',
  'importEpubSeries',
  'importMylarSeries',
  'importLocalArtwork',
  'importBarcodeIsbn',
  'scanForceModifiedTime',
  'scanOnStartup',
  'scanCbx',
  'scanPdf',
  'scanEpub',
  'repairExtensions',
  'convertToCbz',
  'emptyTrashAfterScan',
  'hashFiles',
  'hashPages',
  'hashKoreader',
  'analyzeDimensions',
  'unavailable',
] as const
type Flag = (typeof FLAGS)[number]

/** A library as Komga shows it. Its options say what this server does with the files. */
export const KomgaLibrary = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    root: Type.String(),
    scanInterval: Type.String(),
    scanDirectoryExclusions: Type.Array(Type.String()),
    seriesCover: Type.String(),
    oneshotsDirectory: Nullable(Type.String()),
    ...(Object.fromEntries(FLAGS.map((name) => [name, Type.Boolean()])) as Record<Flag, ReturnType<typeof Type.Boolean>>),
  },
  { title: 'KomgaLibrary' },
)
export type KomgaLibrary = Static<typeof KomgaLibrary>

export function komgaLibrary(library: Library): KomgaLibrary {
  const { scanningConfig, allowedFormats } = library
  const takes = (profile: MediaProfile) =>
    allowedFormats === null || formatsOfProfile(profile).some((format) => allowedFormats.includes(format))
  return {
    id: library.id,
    name: library.name,
    root: library.path,
    scanInterval: intervalOf(scanningConfig),
    scanDirectoryExclusions: library.excludedPatterns?.split('\n').filter((line) => line.trim() !== '') ?? [],
    seriesCover: 'FIRST',
    // A file in any root of a library is a one-shot; there is no folder for them.
    oneshotsDirectory: null,
    importComicInfoBook: true,
    importComicInfoSeries: true,
    importComicInfoCollection: false,
    importComicInfoReadList: false,
    importComicInfoSeriesAppendVolume: false,
    importEpubBook: true,
    importEpubSeries: true,
    importMylarSeries: true,
    importLocalArtwork: false,
    importBarcodeIsbn: false,
    scanForceModifiedTime: false,
    scanOnStartup: scanningConfig === null || (scanningConfig.enabled && scanningConfig.scanOnStart === true),
    scanCbx: takes('DIVINA'),
    scanPdf: takes('PDF'),
    scanEpub: takes('EPUB'),
    repairExtensions: false,
    convertToCbz: false,
    emptyTrashAfterScan: scanningConfig?.purgeDeletedOnScan ?? false,
    hashFiles: true,
    hashPages: false,
    hashKoreader: true,
    analyzeDimensions: true,
    unavailable: !library.isActive,
  }
}

/** The interval of Komga that is closest to a cron schedule. */
function intervalOf(config: Library['scanningConfig']): string {
  const cron = config?.enabled ? config.cronSchedule?.trim() : undefined
  if (!cron) return 'DISABLED'
  const [, hours = '*', days = '*', , weekdays = '*'] = cron.split(/\s+/)
  if (days !== '*' || weekdays !== '*') return 'WEEKLY'
  if (hours === '*') return 'HOURLY'
  const every = Number(/^(?:\*|\d+)\/(\d+)$/.exec(hours)?.[1])
  return every <= 1 ? 'HOURLY' : every <= 6 ? 'EVERY_6H' : every <= 12 ? 'EVERY_12H' : 'DAILY'
}
