const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** A text as it stands in an HTML page. */
export const htmlText = (text: string) => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] as string)

/** Of the few pages that the server writes itself. */
export const HTML_STYLE = 'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}'
