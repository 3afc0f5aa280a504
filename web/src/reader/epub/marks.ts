import type { Annotation } from '../shared/bookmarks-api.ts'
import { DocumentText } from './document-text.ts'
import { addSheet } from './plain-styles.ts'
import { markRangeOf } from './text-locator.ts'
import type { TextSettings } from './text-settings.ts'

export const MARK_COLORS = ['amber', 'rose', 'sky', 'sage'] as const
export type MarkColor = (typeof MARK_COLORS)[number]

/** The color of a highlight; those of other programs are shown in the first. */
export const colorOf = ({ color }: Pick<Annotation, 'color'>): MarkColor => MARK_COLORS.find((known) => known === color) ?? 'amber'

/** As `--mark-…` of the papers; tokens of the interface do not reach into chapters. */
const COLORS: Record<TextSettings['paper'], Record<MarkColor, string>> = {
  paper: { amber: '#f8df9c', rose: '#f6cbc5', sky: '#c6dfef', sage: '#d0e4c5' },
  sepia: { amber: '#edcf80', rose: '#ecbfae', sky: '#bcd3d8', sage: '#c6d6ac' },
  night: { amber: '#5a4513', rose: '#5c302b', sky: '#23455a', sage: '#31482a' },
  black: { amber: '#4d3b10', rose: '#4f2824', sky: '#1d3a4c', sage: '#293d23' },
}

type Frame = Window & typeof globalThis

/** Highlights that were found in a chapter. The browser paints them, and they move with the words at every size. */
export class ChapterMarks {
  readonly doc: Document
  readonly #ranges = new Map<string, Range>()
  readonly #sheet: CSSStyleSheet

  constructor(doc: Document) {
    this.doc = doc
    this.#sheet = addSheet(doc)
  }

  /** @param marks of this chapter */
  draw(marks: readonly Annotation[], paper: TextSettings['paper']): void {
    const { CSS, Highlight } = this.doc.defaultView as Frame
    const text = new DocumentText(this.doc)
    this.#ranges.clear()
    for (const mark of marks) {
      const range = markRangeOf(mark.locator, { doc: this.doc, text })
      if (range) this.#ranges.set(mark.id, range)
    }
    // Firefox before 140 cannot paint them; the list of highlights leads to them all the same.
    if (!Highlight || !CSS.highlights) return
    const paint = (name: string, painted: readonly Annotation[]) =>
      CSS.highlights.set(name, new Highlight(...painted.flatMap(({ id }) => this.#ranges.get(id) ?? [])))
    for (const color of MARK_COLORS)
      paint(
        `carrel-${color}`,
        marks.filter((mark) => colorOf(mark) === color),
      )
    paint(
      'carrel-noted',
      marks.filter(({ note }) => note),
    )
    const rules = MARK_COLORS.map((color) => `::highlight(carrel-${color}) { background-color: ${COLORS[paper][color]}; }`)
    // Safari takes no thickness in the shorthand.
    const noted = '::highlight(carrel-noted) { text-decoration-line: underline; text-decoration-thickness: 1.5px; }'
    this.#sheet.replaceSync(`${rules.join('\n')}\n${noted}`)
  }

  rangeOf(id: string): Range | null {
    return this.#ranges.get(id) ?? null
  }

  /** The id of the highlight at a point of the chapter; the last drawn of several. */
  at({ clientX, clientY }: Pick<MouseEvent, 'clientX' | 'clientY'>): string | null {
    const contains = ({ left, right, top, bottom }: DOMRect) => left <= clientX && clientX <= right && top <= clientY && clientY <= bottom
    return [...this.#ranges].findLast(([, range]) => Array.from(range.getClientRects()).some(contains))?.[0] ?? null
  }
}
