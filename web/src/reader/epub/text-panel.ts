/** What lies over the text. */
export type TextPanel = 'settings' | 'contents' | 'search' | 'keys' | null
