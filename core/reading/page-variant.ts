import { refuse } from '#core/foundation/errors.ts'

/** The widths of pages. A list, because each width is a picture to make and cache: free choice would let one client fill the cache. */
export const PAGE_WIDTHS = [320, 480, 640, 960, 1280, 1600, 2000] as const
export const PAGE_FORMATS = ['jpeg', 'png', 'webp'] as const
export type PageFormat = (typeof PAGE_FORMATS)[number]

/** Longer side of a rendered PDF page without a requested width: sharp on a tablet, and 16 MB of pixels during rendering. */
const PDF_LONGEST_SIDE = 2000
/** A tall strip in full width would otherwise be rendered at any height: 4000 × 4000 pixels are 64 MB. */
const PDF_LONGEST_SIDE_MAX = 4000
/** The longest side of a WebP. */
const WEBP_SIDE_MAX = 16_383
/** The longest side of a JPEG that libvips writes. */
const JPEG_SIDE_MAX = 65_500
/** "Unchanged width" for the resizer, which never enlarges. */
const WIDTH_UNCHANGED = WEBP_SIDE_MAX
/**
 * A page with more pixels is decoded once for all of its widths in one format: decoding 40 million takes up to a second, whatever the width. A page of A4
 * scanned at 600 dpi has 35 million, and keeps the quality of a picture that is reduced only once.
 */
const ORDINARY_PIXELS_MAX = 40_000_000
/** Part of ETags and cache names: increase it when rendering or resizing makes different bytes than before. */
const RENDERING = 1

/** How to make the bytes of a page. `name` is unique within a book's content and page. */
export type PageVariant =
  | { kind: 'original'; name: string }
  | { kind: 'rendered'; name: string; longestSide: number }
  | { kind: 'resized'; name: string; from: PageVariant; width: number; format: PageFormat | null }

/** @throws invalid_request for a width that is not offered */
export function checkWidth(what: 'Pages' | 'Covers', widths: readonly number[], width: number | undefined): void {
  if (width === undefined || widths.includes(width)) return
  refuse('invalid_request', `${what} are not offered in a width of ${width} pixels. Known widths: ${widths.join(', ')}.`)
}

/** @throws invalid_request for a format that is not offered */
export function readPageFormat(text: string | undefined): PageFormat | undefined {
  if (text === undefined) return undefined
  const format = PAGE_FORMATS.find((known) => known === text)
  return format ?? refuse('invalid_request', `Pages are not offered as "${text}". Known formats: ${PAGE_FORMATS.join(', ')}.`)
}

/** A format that the client prefers to the media type that it would get; null if it prefers none. */
export type PreferFormat = (usual: string) => PageFormat | null

/** How to make a page of this kind match the request, without enlarging it. @param request.keeps media types that need no other format */
export function chooseVariant(
  page: { mediaType: string; width: number | null; height: number | null },
  request: {
    isPdf: boolean
    width?: number | undefined
    format?: PageFormat | undefined
    keeps?: readonly string[] | undefined
    prefer?: PreferFormat | undefined
  },
): PageVariant {
  const { width } = request
  const usual = request.keeps?.includes(page.mediaType) && !request.isPdf ? undefined : request.format
  // Pages of PDFs are rendered as JPEG.
  const format = request.prefer?.(usual ? `image/${usual}` : request.isPdf ? 'image/jpeg' : page.mediaType) ?? usual
  if (request.isPdf) {
    const longestSide = longestSideOf(page, width)
    const rendered: PageVariant = { kind: 'rendered', name: renderedName(longestSide), longestSide }
    if (format === undefined || format === 'jpeg') return rendered
    return { kind: 'resized', name: `resize${RENDERING}-${longestSide}-${format}`, from: rendered, width: WIDTH_UNCHANGED, format }
  }
  const original: PageVariant = { kind: 'original', name: 'original' }
  const narrower = width !== undefined && (page.width === null || width < page.width)
  const converted = format !== undefined && page.mediaType !== `image/${format}`
  const resized = (name: string | number, to: number, from: PageVariant): PageVariant => ({
    kind: 'resized',
    name: `resize${RENDERING}-${name}-${format ?? 'same'}`,
    from,
    width: to,
    format: format ?? null,
  })
  if (!narrower) return converted ? resized('full', WIDTH_UNCHANGED, original) : original
  const widest = widestOf(page, format)
  if (widest === undefined || width >= widest) return resized(width, width, original)
  return resized(`${width}-of-${widest}`, width, resized(widest, widest, original))
}

/** The width of the picture from which all narrower ones of a very large page are made; undefined if they are made from the page itself. */
function widestOf({ width, height }: { width: number | null; height: number | null }, format: PageFormat | undefined): number | undefined {
  if (width === null || height === null || width * height <= ORDINARY_PIXELS_MAX) return undefined
  const sideMax = format === 'webp' ? WEBP_SIDE_MAX : JPEG_SIDE_MAX
  // The wider pictures of a strip may be too tall for the format, while the one that was asked for is not.
  return PAGE_WIDTHS.findLast((known) => known < width && Math.ceil((known * height) / width) <= sideMax)
}

/** The name of a rendered page. */
export const renderedName = (longestSide: number): string => `render${RENDERING}-${longestSide}`

/** The sizes above this one in which a page of a PDF is offered, the largest first. */
export function largerSides(page: { width: number | null; height: number | null }, longestSide: number): number[] {
  const sides = [undefined, ...PAGE_WIDTHS].map((width) => longestSideOf(page, width)).filter((side) => side > longestSide)
  return [...new Set(sides)].sort((a, b) => b - a)
}

function longestSideOf(page: { width: number | null; height: number | null }, width: number | undefined): number {
  if (width === undefined) return PDF_LONGEST_SIDE
  // Sizes are known except for damaged pages; then the picture is at most as wide as requested.
  const ratio = page.width && page.height ? Math.max(1, page.height / page.width) : 1
  return Math.min(Math.round(width * ratio), PDF_LONGEST_SIDE_MAX)
}
