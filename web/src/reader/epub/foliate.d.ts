/** The parts of foliate-js that are used; the package has no types. */
declare module 'foliate-js/paginator.js' {
  export class Paginator extends HTMLElement {
    open(book: unknown): void
    goTo(target: { index: number; anchor?: number | ((doc: Document) => Range | Element | number); select?: boolean }): Promise<void>
    next(distance?: number): Promise<void>
    prev(distance?: number): Promise<void>
    setStyles(styles: string | [before: string, after: string]): void
    getContents(): { doc: Document; index?: number }[]
    destroy(): void
  }
}
declare module 'foliate-js/fixed-layout.js' {
  export class FixedLayout extends HTMLElement {
    open(book: unknown): void
    goTo(target: { index: number; anchor?: unknown; select?: boolean }): Promise<void>
    next(): Promise<void>
    prev(): Promise<void>
    getContents(): { doc: Document }[]
    destroy(): void
  }
}
declare module 'foliate-js/epubcfi.js' {
  type Parts = unknown[] & { parent?: unknown[] }
  export function parse(cfi: string): Parts
  export function joinIndir(...parts: string[]): string
  export function fromRange(range: Range): string
  export function toRange(doc: Document, parts: Parts): Range
  export const fake: { fromIndex(index: number): string; toIndex(parts: unknown): number }
}
