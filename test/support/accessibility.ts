import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** The rules of WCAG 2.2 AA, and what is usual besides. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Found {
  violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[]
}

/**
 * What axe finds wrong with a page as it is now, a sentence each. Chapters of books are left out: they are written by others.
 * @param options.hasSystemColors the page has forced colors: axe reads the page's own color of a word, and the system's of the ground
 */
export async function accessibilityFaults(page: Page, { hasSystemColors = false } = {}): Promise<string[]> {
  // Movements have half-seen colors; they are shorter than a second each.
  await page.evaluate('Promise.allSettled(document.getAnimations().map((each) => each.finished)).then(() => null)')
  await page.evaluate(axe.source)
  const rules = { 'color-contrast': { enabled: !hasSystemColors } }
  const options = JSON.stringify({ runOnly: RULES, rules, iframes: false })
  const { violations } = (await page.evaluate(`axe.run({ exclude: ['iframe'] }, ${options})`)) as Found
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`))
}

/** How many pixels of a page can only be seen by scrolling sideways. Below a dialog the room of the scroll bar stays empty. */
export const sidewaysPixels = async (page: Page): Promise<number> =>
  Math.max(0, Number(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')))

/** What a person sets who reads better with more space (WCAG 1.4.12). */
const SPACING =
  '* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-block-end: 2em !important }'

/** Boxes that words must not leave, beside those that cut what they hold. */
const BOXES = '[role="row"], .btn, .chip, .badge, .item, .side-link, .bottom a, .tabs > *'

/** Finds words that are cut or leave their box. Words that end with dots have their whole elsewhere, and what scrolls can be scrolled. */
const FIND_CUT_WORDS = `(() => {
  const isCut = (overflow) => overflow === 'hidden' || overflow === 'clip'
  const found = []
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const words = node.textContent.trim()
    const element = node.parentElement
    if (words === '' || !element.checkVisibility({ visibilityProperty: true })) continue
    if (element.closest('[aria-hidden="true"], .visually-hidden, .skip, select')) continue
    range.selectNodeContents(node)
    const inner = range.getBoundingClientRect()
    if (inner.width === 0) continue
    for (let box = element; box && box !== document.body; box = box.parentElement) {
      const { overflowX, overflowY, textOverflow, webkitLineClamp, position } = getComputedStyle(box)
      const outer = box.getBoundingClientRect()
      const holds = box.matches('${BOXES}')
      const isClamped = webkitLineClamp !== 'none'
      if (!isClamped && (holds || isCut(overflowY)) && (inner.bottom > outer.bottom + 1 || inner.top < outer.top - 1))
        found.push(words + ': higher than ' + box.tagName + '.' + box.className)
      if (isClamped || (textOverflow === 'ellipsis' && isCut(overflowX))) break
      if ((holds || isCut(overflowX)) && (inner.right > outer.right + 1 || inner.left < outer.left - 1))
        found.push(words + ': wider than ' + box.tagName + '.' + box.className)
      if (/auto|scroll/.test(overflowX + overflowY) || position === 'fixed') break
    }
  }
  return found
})()`

/** What cannot be read of a page whose letters, words, lines and paragraphs have the space of WCAG 1.4.12, a sentence each. The page keeps it until it is left. */
export async function spacingFaults(page: Page): Promise<string[]> {
  // The policy of the page allows no style elements.
  await page.evaluate(`document.adoptedStyleSheets = [new CSSStyleSheet()]; document.adoptedStyleSheets[0].replaceSync('${SPACING}')`)
  return (await page.evaluate(FIND_CUT_WORDS)) as string[]
}
