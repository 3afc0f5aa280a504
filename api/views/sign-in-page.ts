import { createHash } from 'node:crypto'
import { HTML_STYLE, htmlText } from '#api/http/html.ts'
import type { StreamReply } from '#api/http/reply.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'

/** Notifies the page that opened the window, if it has our origin, and closes the window. */
const SCRIPT = `if(window.opener)window.opener.postMessage({type:'carrel-sign-in',connected:true},location.origin);window.close()`
/** Allows only that script; the page cannot be framed, submit forms or navigate elsewhere. */
const POLICY = [
  `default-src 'none'`,
  `style-src 'unsafe-inline'`,
  `script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/**
 * The page that a browser shows when it returns from a service.
 * @param outcome.connected the name that the author gave the plugin
 */
export function signInPage(outcome: { connected: string } | { failure: string }): StreamReply {
  const isConnected = 'connected' in outcome
  const title = isConnected ? 'Connected' : 'Not connected'
  const text = isConnected ? `${quotedText(outcome.connected)} is connected. You can close this window.` : outcome.failure
  const script = isConnected ? `<script>${SCRIPT}</script>` : ''
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${HTML_STYLE}</style><h1>${title}</h1><p>${htmlText(text)}</p>${script}</html>`
  return {
    kind: 'bytes',
    bytes: Buffer.from(page),
    mediaType: 'text/html; charset=utf-8',
    status: isConnected ? 200 : 400,
    cacheControl: 'no-store',
    headers: { 'Content-Security-Policy': POLICY },
  }
}
