import { useMemo } from 'react'
import type { Size } from '../shared/use-size.ts'
import { fitSpread, type PageBox, partRatio } from './page-rules.ts'
import type { PageSettings } from './page-settings.ts'
import type { Spread } from './spreads.ts'
import type { OpenedPages } from './use-page-view.ts'

/** The place of a spread on screen, before zoom, in CSS pixels; each ratio is the width by height of a part. */
export interface SpreadBox extends PageBox {
  ratios: readonly number[]
}

/** On a desk pages do not touch the edge of the screen; on a phone each pixel counts. */
const roomOf = ({ width, height }: Size): number => (width / height > 0.9 ? Math.min(20, Math.min(width, height) * 0.02) : 0)

export function useSpreadBox(
  { pages }: OpenedPages,
  { spread, settings, screen }: { spread: Spread | undefined; settings: PageSettings; screen: Size | null },
): SpreadBox | null {
  return useMemo(() => {
    if (!spread || !screen) return null
    const unknown = { width: null, height: null }
    const ratios = spread.map(({ page, half }) => partRatio(pages[page - 1] ?? unknown, half, settings.wide === 'turned'))
    const heights = spread.map(({ page }) => pages[page - 1]?.height ?? null)
    const known = heights.filter((height) => height !== null)
    const originalHeight = known.length > 0 ? Math.max(...known) / devicePixelRatio : null
    const room = settings.fit === 'page' ? roomOf(screen) : 0
    const fitted = fitSpread({ width: screen.width - 2 * room, height: screen.height - 2 * room }, settings.fit, { ratios, originalHeight })
    return { ...fitted, ratios }
  }, [pages, spread, settings.fit, settings.wide, screen])
}
