/** A list with one item at another place. */
export function moved<T>(items: readonly T[], from: number, to: number): T[] {
  const next = [...items]
  const [item] = next.splice(from, 1)
  if (item !== undefined) next.splice(to, 0, item)
  return next
}

/** Where a row begins and how high it is, in pixels of the page. */
export interface RowBox {
  top: number
  height: number
}

/** The place of a row that is dragged by `by` pixels: after all others whose middle it has passed. */
export function placeOfDragged(boxes: readonly RowBox[], from: number, by: number): number {
  const middle = (box: RowBox) => box.top + box.height / 2
  const dragged = boxes[from]
  if (!dragged) return from
  const at = middle(dragged) + by
  return boxes.filter((box, index) => index !== from && middle(box) < at).length
}

/** How far a row makes room for the dragged one, in pixels. */
export function shiftOf(index: number, { from, to, height }: { from: number; to: number; height: number }): number {
  if (index > from && index <= to) return -height
  return index < from && index >= to ? height : 0
}
