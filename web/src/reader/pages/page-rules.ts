import { isWide, type PageSize } from './spreads.ts'

export type Direction = 'ltr' | 'rtl' | 'ttb'
export type Layout = 'single' | 'double' | 'strip'

/**
 * The layout by screen: two pages where two upright pages fit side by side and a page keeps a readable width, a strip for webtoons.
 * @param screen CSS pixels
 */
export function layoutByScreen(screen: { width: number; height: number }, direction: string | null): Layout {
  if (direction === 'webtoon') return 'strip'
  // Two pages of 2 : 3 beside each other are 4 : 3; a little narrower still leaves each larger than alone. Below 700 px letters get too small.
  return direction !== 'ttb' && screen.width >= 700 && screen.width / screen.height >= 1.1 ? 'double' : 'single'
}

/** The direction of a record; webtoons go down. */
export const directionOf = (recorded: string | null): Direction =>
  recorded === 'rtl' ? 'rtl' : recorded === 'ttb' || recorded === 'webtoon' ? 'ttb' : 'ltr'

/** Beyond this a page is a line: at its true shape one column of pixels would be as tall as a hundred screens. */
const RATIO_MAX = 50

/** Width by height of a page; 2 : 3 while unknown. */
export const ratioOf = ({ width, height }: PageSize): number =>
  width && height ? Math.min(RATIO_MAX, Math.max(1 / RATIO_MAX, width / height)) : 2 / 3

/** Degrees to the right by which a page is turned. */
export type Rotation = '0' | '90' | '180' | '270'

export const ROTATIONS: readonly Rotation[] = ['0', '90', '180', '270']

/** A page with the size that it has once it is turned. */
export const turnSize = <Page extends PageSize>(page: Page, rotation: Rotation): Page =>
  rotation === '90' || rotation === '270' ? { ...page, width: page.height, height: page.width } : page

/** By how much the picture of a page is turned. @param size once it is turned by `rotation` @param wide what is done with wide pages */
export function angleOf(size: PageSize, { rotation, wide }: { rotation: Rotation; wide: 'whole' | 'split' | 'turned' }): Rotation {
  const turns = ROTATIONS.indexOf(rotation) + (wide === 'turned' && isWide(size) ? 1 : 0)
  return ROTATIONS[turns % ROTATIONS.length] as Rotation
}

/** Whether the width of a picture goes down the screen. */
export const isSideways = (angle: Rotation): boolean => angle === '90' || angle === '270'

export interface PageBox {
  width: number
  height: number
}

/**
 * The size of a spread in CSS pixels, before zoom.
 * @param fit `original` shows pixels of the page at the density of the screen
 * @param ratios of the parts, side by side at one height
 */
export function fitSpread(
  room: PageBox,
  fit: 'page' | 'width' | 'height' | 'original',
  { ratios, originalHeight }: { ratios: readonly number[]; originalHeight: number | null },
): PageBox {
  const ratio = ratios.reduce((sum, each) => sum + each, 0) || 2 / 3
  const byWidth = { width: room.width, height: room.width / ratio }
  const byHeight = { width: room.height * ratio, height: room.height }
  if (fit === 'width') return byWidth
  if (fit === 'height') return byHeight
  if (fit === 'original' && originalHeight !== null) return { width: originalHeight * ratio, height: originalHeight }
  return byWidth.height <= room.height ? byWidth : byHeight
}

/** The ratio of a part: a half of a wide page has half its width; a turned wide page stands upright. */
export const partRatio = (size: PageSize, half: 'whole' | 'first' | 'second', isTurned: boolean): number => {
  const ratio = ratioOf(size)
  if (half !== 'whole') return ratio / 2
  return isTurned && isWide(size) ? 1 / ratio : ratio
}

/** What a tap does, by where it is across the page; the middle always shows the bars. */
export function tapAction(fraction: number, direction: Direction): 'next' | 'previous' | 'bars' {
  if (fraction >= 1 / 3 && fraction <= 2 / 3) return 'bars'
  return fraction > 2 / 3 === (direction !== 'rtl') ? 'next' : 'previous'
}
