import { HTML_STYLE, htmlText } from '#api/http/html.ts'
import type { StreamReply } from '#api/http/reply.ts'

/** The page has no scripts and loads nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The page at the root address of the server: a list of its interfaces. Addresses are relative, for proxies with a path prefix. */
export function startPage({ name, hasDocs }: { name: string; hasDocs: boolean }): StreamReply {
  const title = htmlText(name)
  const docs = hasDocs
    ? '<li><a href="api/docs">api/docs</a>: documentation of the API'
    : '<li>api/docs: documentation of the API, when an administrator enables it (setting <code>apiDocs.enabled</code>)'
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${HTML_STYLE}</style>
<h1>${title}</h1>
<p>This is a Carrel library server. Applications use these addresses:</p>
<ul>
<li><a href="opds/v1/catalog">opds/v1/catalog</a>: catalog for client apps, OPDS 1.2
<li><a href="opds/v2">opds/v2</a>: catalog for client apps, OPDS 2.0
${docs}
<li><a href="api/openapi.json">api/openapi.json</a>: description of the API for programs
<li><a href="health">health</a>: state of the server
</ul></html>
`
  return {
    kind: 'bytes',
    bytes: Buffer.from(page),
    mediaType: 'text/html; charset=utf-8',
    cacheControl: 'no-cache',
    headers: { 'Content-Security-Policy': POLICY },
  }
}
