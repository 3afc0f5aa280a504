import type { BookPlace } from '#core/scan/layouts/place-book.ts'
import { TreePlaces } from '#core/scan/layouts/place-tree.ts'

/** Where each book of a tree belongs. */
export function placeTree(...tree: ConstructorParameters<typeof TreePlaces>): Map<string, BookPlace> {
  const places = new TreePlaces(...tree)
  return new Map(places.books.map((path) => [path, places.place(path)]))
}
