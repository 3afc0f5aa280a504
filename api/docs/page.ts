import { NAME } from '#api/http/version.ts'

/**
 * What the page of the documentation may do: run the scripts and use the styles that lie beside it, and ask this server. Nothing that stands in the
 * page itself is run, and no other address is asked.
 */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The arrows and signs of its buttons stand in its style sheet.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Addresses are relative, so that they hold behind a proxy that puts the server below a path of its own. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${NAME} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<noscript>This page needs JavaScript. The description itself: <a href="openapi.json">openapi.json</a></noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/**
 * Starts the page. Without `validatorUrl: null` it would show the document to a service on the web; the address of the document is fixed, so that
 * nobody can be sent to this page to read another one. Operations are folded: there are hundreds.
 */
export const DOCS_START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  displayOperationId: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  filter: true,
  queryConfigEnabled: false,
  validatorUrl: null,
})
`
