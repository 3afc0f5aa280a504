import type { TextSettings } from './text-settings.ts'

/** Colors of a paper; tokens of the interface do not reach into chapters, which are documents of their own. */
const PAPERS: Record<TextSettings['paper'], { page: string; ink: string; link: string; scheme: 'light' | 'dark' }> = {
  paper: { page: '#fdfbf7', ink: '#25211c', link: '#7a5409', scheme: 'light' },
  sepia: { page: '#f3e8d2', ink: '#3a2e21', link: '#6d4706', scheme: 'light' },
  night: { page: '#1a1917', ink: '#cfc7bb', link: '#e6bd6c', scheme: 'dark' },
  black: { page: '#000000', ink: '#bdb5a9', link: '#d3a446', scheme: 'dark' },
}

const FACES: Record<TextSettings['face'], string | null> = {
  serif: '"Carrel Serif", "Iowan Old Style", Palatino, "Noto Serif", "Noto Serif CJK JP", serif',
  oldstyle: '"Iowan Old Style", "Palatino Linotype", Palatino, "Noto Serif", serif',
  sans: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fixed: 'ui-monospace, "Cascadia Mono", Menlo, "Noto Sans Mono", monospace',
  dyslexia: '"Carrel Dyslexia", sans-serif',
  book: null,
}

/** Where faces of the interface are. */
export interface FaceAddresses {
  serif: string
  dyslexia: string
  dyslexiaBold: string
}

/**
 * The styles of a chapter: below the book's own, and above them.
 * Browsers load a face only where it is used.
 */
export function chapterStyles(settings: TextSettings, faces: FaceAddresses): [before: string, after: string] {
  const { page, ink, link, scheme } = PAPERS[settings.paper]
  const face = FACES[settings.face]
  const before = `
    @font-face { font-family: "Carrel Serif"; src: url("${faces.serif}") format("woff2"); font-weight: 200 900; }
    @font-face { font-family: "Carrel Dyslexia"; src: url("${faces.dyslexia}") format("woff2"); }
    @font-face { font-family: "Carrel Dyslexia"; src: url("${faces.dyslexiaBold}") format("woff2"); font-weight: 700; }
    html { font-size: ${settings.size}px; line-height: ${settings.lineHeight}; font-optical-sizing: auto; hanging-punctuation: first last; text-wrap: pretty; }
    p { orphans: 2; widows: 2; }
    a { color: ${link}; }
    ${settings.publisherStyles ? '' : '/* Also what covers the page. */ body { margin: 0; } *, *::before, *::after { position: static !important; }'}
  `
  const after = `
    html { --theme-bg-color: ${page}; color-scheme: ${scheme}; background: ${page} !important; color: ${ink} !important; font-size: ${settings.size}px !important; }
    ${face ? `html, body, p, li, dd, dt, blockquote, h1, h2, h3, h4, h5, h6, div, span, td, th, figcaption { font-family: ${face} !important; }` : ''}
    p, li, dd, blockquote { line-height: ${settings.lineHeight} !important; }
    ${settings.align === 'book' ? '' : `p, li, dd, blockquote { text-align: ${settings.align} !important; }`}
    html { hyphens: ${settings.hyphens ? 'auto' : 'manual'} !important; -webkit-hyphens: ${settings.hyphens ? 'auto' : 'manual'} !important; }
    ${settings.publisherStyles && scheme === 'light' ? '' : `* { color: inherit !important; background-color: transparent !important; border-color: currentColor !important; } html { background: ${page} !important; color: ${ink} !important; } a, a * { color: ${link} !important; }`}
    /* Words that a search shows: Firefox paints them gray on gray while the chapter has no focus. */
    ::selection { background-color: color-mix(in srgb, ${link} 30%, ${page}); color: ${ink}; }
    [hidden] { display: none; }
    pre { white-space: pre-wrap !important; }
  `
  return [before, after]
}

/** A letter is about half as wide as the size of the text. */
const LETTER_WIDTH = 0.47

/** The attributes of foliate's paginator. */
export function paginatorAttributes({ flow, measure, size, margin }: TextSettings): Record<string, string> {
  return {
    flow: flow === 'scroll' ? 'scrolled' : 'paginated',
    'max-column-count': flow === 'one' || flow === 'scroll' ? '1' : '2',
    'max-inline-size': `${Math.round(measure * size * LETTER_WIDTH)}px`,
    'max-block-size': '1600px',
    margin: '16px',
    gap: `${Math.max(2, margin + 2)}%`,
  }
}
