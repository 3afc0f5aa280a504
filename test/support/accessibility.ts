import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** The rules of WCAG 2.2 AA, and what is usual besides. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Found {
  violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[]
}

/** What axe finds wrong with a page as it is now, a sentence each. Chapters of books are left out: they are written by others. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Movements have half-seen colors; they are shorter than a second each.
  await page.evaluate('Promise.allSettled(document.getAnimations().map((each) => each.finished)).then(() => null)')
  await page.evaluate(axe.source)
  const options = JSON.stringify({ runOnly: RULES, iframes: false })
  const { violations } = (await page.evaluate(`axe.run({ exclude: ['iframe'] }, ${options})`)) as Found
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`))
}

/** How many pixels of a page can only be seen by scrolling sideways. Below a dialog the room of the scroll bar stays empty. */
export const sidewaysPixels = async (page: Page): Promise<number> =>
  Math.max(0, Number(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')))
