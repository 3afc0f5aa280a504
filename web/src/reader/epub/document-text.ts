/** The text of a chapter with the nodes that it stands in. */
export class DocumentText {
  readonly text: string
  readonly #nodes: { node: Text; start: number }[] = []
  readonly #doc: Document

  constructor(doc: Document) {
    this.#doc = doc
    const walker = doc.createTreeWalker(doc.body ?? doc.documentElement, NodeFilter.SHOW_TEXT)
    const parts: string[] = []
    let start = 0
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (/^(style|script|title)$/i.test(node.parentElement?.localName ?? '')) continue
      this.#nodes.push({ node: node as Text, start })
      parts.push(node.nodeValue ?? '')
      start += node.nodeValue?.length ?? 0
    }
    this.text = parts.join('')
  }

  /** The offset in the text of a place in the document. */
  offsetOf(container: Node, offset: number): number {
    const within = this.#nodes.find(({ node }) => node === container)
    if (within) return within.start + offset
    const range = this.#doc.createRange()
    range.setStart(container, offset)
    const after = this.#nodes.find(({ node }) => range.comparePoint(node, 0) >= 0)
    return after?.start ?? this.text.length
  }

  /** A range of letters; null beyond the end. */
  rangeAt(start: number, length: number): Range | null {
    const from = this.#nodeAt(start)
    const to = this.#nodeAt(start + Math.max(0, length - 1))
    if (!from || !to) return null
    const range = this.#doc.createRange()
    range.setStart(from.node, start - from.start)
    range.setEnd(to.node, Math.min(to.node.length, start + length - to.start))
    return range
  }

  #nodeAt(offset: number): { node: Text; start: number } | undefined {
    return this.#nodes.findLast(({ node, start }) => start <= offset && offset < start + node.length)
  }
}
