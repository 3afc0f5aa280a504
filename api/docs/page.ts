import { NAME } from '#api/http/version.ts'

/**
 * What the documentation page may do: load scripts and styles from its own folder, and call this server. Inline scripts do not run, and other
 * addresses are not contacted.
 */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The style sheet contains the icons of its buttons.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Addresses are relative, so that they work behind a proxy with a path prefix. */
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
 * Starts the page. Without `validatorUrl: null` it would send the document to a service on the web. The address of the document is fixed,
 * so that no link can make the page show another one. Operations are collapsed: there are hundreds.
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
