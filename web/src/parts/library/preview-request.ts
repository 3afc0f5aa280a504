import type { PreviewRequest } from '#api/records.ts'
import { type Config, configOf, isComplete, SERIES_SETTINGS, type SeriesStrategy } from './strategy-settings.ts'

interface Chosen {
  /** Null for all. */
  formats: readonly string[] | null
  excluded: string
  seriesStrategy: SeriesStrategy
  seriesConfig: Config
}

/** What is asked about a folder that may become a library; null without a folder. Without its pattern a strategy could not be asked for: then only the comparison of the others. */
export function previewRequestOf(folder: string | null, { formats, excluded, seriesStrategy, seriesConfig }: Chosen) {
  const settings = SERIES_SETTINGS[seriesStrategy]
  const needsPattern = !isComplete(settings, seriesConfig)
  const layout = needsPattern
    ? { seriesStrategy: 'auto' as const, seriesConfig: {} }
    : { seriesStrategy, seriesConfig: configOf(settings, seriesConfig) }
  const asked: PreviewRequest | null =
    folder === null ? null : { path: folder, ...layout, allowedFormats: formats && [...formats], excludedPatterns: excluded.trim() || null }
  return { asked, needsPattern }
}
