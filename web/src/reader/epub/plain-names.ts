/** The same styles with the names of today for how vertical text is written, instead of those of EPUB 3.0 and of WebKit. */
export const plainNames = (styles: string): string =>
  styles
    .replace(/-(?:epub|webkit)-text-combine\s*:\s*horizontal/gi, 'text-combine-upright: all')
    .replace(/-(?:epub|webkit)-(?=(?:writing-mode|text-orientation|text-emphasis(?:-style|-color|-position)?)\s*:)/gi, '')

/** What styles import, in their order. */
export const importsOf = (styles: string): string[] =>
  Array.from(styles.matchAll(/@import\s+(?:url\(\s*)?["']?([^"')\s;]+)/gi), ([, href]) => href as string)
