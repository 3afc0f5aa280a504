/** The rules of the public suffix list, as tldts keeps them: its own functions tell the suffix of a name, but not the suffixes below one. */
declare module 'tldts/dist/cjs/src/data/trie.js' {
  /** 0 for a name that is no rule. */
  export const nodeFlags: Uint8Array
  /** The first edge of each node, and behind the last node the end. */
  export const edgeStart: Uint16Array
  /** Length of the label of each edge; the labels follow one another in `labelText`. */
  export const edgeLength: Uint8Array
  export const edgeChild: Uint16Array
  export const labelText: string
  /** The node of all rules; exceptions have another. */
  export const rulesRoot: number
}
