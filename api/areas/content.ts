import type { DrawCover } from '#core/covers/cover.ts'
import type { SeriesDownloads } from '#core/reading/download-series.ts'
import type { PositionLists } from '#core/reading/position-lists.ts'
import type { Publications } from '#core/reading/publications.ts'
import type { PageReader } from '#core/reading/read-page.ts'
import type { SizedCovers } from '#core/reading/sized-covers.ts'
import type { ReadReadingList } from '#core/shelves/reading-list.ts'

/** The contents of books, and what is made from uploaded files. */
export interface ContentServices {
  pageReader: PageReader
  /** Covers in the sizes of cards. */
  sizedCovers: SizedCovers
  /** Serves the contents of EPUBs. */
  publications: Publications
  /** Lists of reading positions for client apps. */
  positionLists: PositionLists
  /** ZIP archives of whole series. */
  seriesDownloads: SeriesDownloads
  /** Makes covers from uploaded pictures. */
  drawCover: DrawCover
  /** Reads reading lists in the CBL format. */
  readReadingList: ReadReadingList
}
