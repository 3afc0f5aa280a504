import { HTML_STYLE, htmlText } from '#api/http/html.ts'
import type { EventsReply, StreamReply } from '#api/http/reply.ts'

/** The page has no scripts and loads nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** How often a page that waits for the web interface looks again. */
const RELOAD_SECONDS = 2

export interface StartFacts {
  name: string
  hasDocs: boolean
}

interface StartPage extends StartFacts {
  /** 503 at an address that the web interface may have, once it is built. */
  status?: 200 | 503
  /** The step of the build of the web interface that runs: the page loads itself again. */
  waitsFor?: string | null
  /** Why the web interface could not be built. */
  failed?: string | null
}

/** The page at the root address of the server without its web interface: a list of its other interfaces. Addresses are relative, for proxies with a path prefix. */
export function startPage({ name, hasDocs, status = 200, waitsFor = null, failed = null }: StartPage): Exclude<StreamReply, EventsReply> {
  const title = htmlText(name)
  const docs = hasDocs
    ? '<li><a href="api/docs">api/docs</a>: documentation of the API'
    : '<li>api/docs: documentation of the API, when an administrator enables it (setting <code>apiDocs.enabled</code>)'
  const reload = waitsFor === null ? '' : `<meta http-equiv="refresh" content="${RELOAD_SECONDS}">`
  // At a deeper address the links would lead elsewhere; there the page only waits.
  const links = status === 503 ? '' : linksOf(docs)
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">${reload}<title>${title}</title><style>${HTML_STYLE}</style>
<h1>${title}</h1>
${explain(waitsFor, failed)}${links}</html>
`
  return {
    kind: 'bytes',
    bytes: Buffer.from(page),
    mediaType: 'text/html; charset=utf-8',
    status,
    cacheControl: waitsFor === null ? 'no-cache' : 'no-store',
    headers: { 'Content-Security-Policy': POLICY },
  }
}

const linksOf = (docs: string) => `<p>This is a Carrel library server. Applications use these addresses:</p>
<ul>
<li><a href="opds/v1/catalog">opds/v1/catalog</a>: catalog for client apps, OPDS 1.2
<li><a href="opds/v2">opds/v2</a>: catalog for client apps, OPDS 2.0
${docs}
<li><a href="api/openapi.json">api/openapi.json</a>: description of the API for programs
<li><a href="health">health</a>: state of the server
</ul>`

function explain(waitsFor: string | null, failed: string | null): string {
  if (waitsFor !== null) {
    const step = waitsFor === 'installing' ? 'Its packages are being installed, which takes up to a minute.' : 'This takes a few seconds.'
    return `<p><strong>The web interface is being built</strong>, once for each version. ${step} This page loads itself again.</p>\n`
  }
  if (failed === null) return ''
  return `<p><strong>The web interface could not be built</strong>, so browsers have no pages. Everything else works. Solve the problem below and start the server again.</p>
<pre style="white-space:pre-wrap;overflow-wrap:anywhere">${htmlText(failed)}</pre>\n`
}
