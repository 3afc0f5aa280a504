export type BrowseView = 'grid' | 'list' | 'table'

/** Widths of covers in CSS pixels: `--cover-s` to `--cover-xl`. */
export const COVER_WIDTHS = [80, 128, 168, 216] as const

/** How items stand in rows of one height, so that nothing has to be measured. Lengths in CSS pixels. */
export interface RowLayout {
  columns: number
  coverWidth: number
  /** With the gap below. */
  rowHeight: number
  gap: number
}

/** On phones at least so many covers stand in a row. */
const COLUMNS_MIN = 3
const PHONE = 600
/** Two lines of a name and one line below, with the space between: what a card is higher than its cover. */
const WORDS = { wide: 72, phone: 66 }
/** As the steps of space in tokens.css. */
const GAPS = {
  comfortable: { wide: { column: 16, row: 24 }, phone: { column: 12, row: 16 } },
  compact: { wide: { column: 12, row: 16 }, phone: { column: 12, row: 12 } },
}
/** A compact line has room for its cover, for two lines of text, and for a button that a finger hits. */
const LINES = {
  comfortable: { list: { cover: 40, height: 72 }, table: { cover: 28, height: 52 } },
  compact: { list: { cover: 32, height: 56 }, table: { cover: 24, height: 46 } },
}

interface Room {
  /** Of the list. */
  width: number
  /** Of the window. */
  windowWidth: number
  /** How much larger the reader made the text of the browser: 1 for 16 px. */
  textScale: number
  density?: keyof typeof LINES
}

/** @param size index of COVER_WIDTHS */
export function rowLayout(view: BrowseView, size: number, { width, windowWidth, textScale, density = 'comfortable' }: Room): RowLayout {
  if (view !== 'grid') {
    const { cover, height } = LINES[density][view]
    return { columns: 1, coverWidth: cover, rowHeight: height * textScale, gap: 0 }
  }
  const kind = windowWidth < PHONE ? 'phone' : 'wide'
  const { column, row } = GAPS[density][kind]
  const wanted = Math.min((COVER_WIDTHS[size] ?? COVER_WIDTHS[2]) * textScale, (width - (COLUMNS_MIN - 1) * column) / COLUMNS_MIN)
  const columns = Math.max(1, Math.floor((width + column) / (wanted + column)))
  const coverWidth = (width - (columns - 1) * column) / columns
  return { columns, coverWidth, rowHeight: Math.round(coverWidth * 1.5 + WORDS[kind] * textScale + row), gap: column }
}
