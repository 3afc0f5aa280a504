const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text for an HTML page. */
export const htmlText = (text: string) => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] as string)

/** The style of the few pages that the server renders itself. */
export const HTML_STYLE = 'body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}'
