import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { newestFirst } from '#plugins/repositories/index-entry.ts'
import type { IndexPlugin, RepositoryIndex } from '#plugins/repositories/index-file.ts'

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)

/** No scripts, nothing from other hosts, whatever server the page is on; it needs only its own two styles. */
const POLICY = `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`
const STYLE = 'body{font:1rem/1.5 sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}code{overflow-wrap:anywhere}'

/** The HTML page of a repository, to publish beside its index: its plugins, and the URL and fingerprint for adding it. */
export function renderIndexPage(index: RepositoryIndex): string {
  const fingerprints = index.keys.map((key) => `<li><code>${escaped(fingerprintOf(key))}</code></li>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(POLICY)}">
<meta name="viewport" content="width=device-width">
<title>${escaped(index.name)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(index.name)}</h1>
<p>A repository of plugins. Add it to your server by its address: <a href="${escaped(index.url)}"><code>${escaped(index.url)}</code></a></p>
<p>Before you trust it, compare the fingerprint that your server shows with this:</p>
<ul>
${fingerprints.join('\n')}
</ul>
${index.plugins.map(renderPlugin).join('\n')}
<p>Issued <time datetime="${escaped(index.issuedAt)}">${escaped(index.issuedAt.slice(0, 10))}</time>, number ${index.sequence};
it expires <time datetime="${escaped(index.expires)}">${escaped(index.expires.slice(0, 10))}</time>.</p>
</body>
</html>
`
}

function renderPlugin({ id, name, summary, author, versions }: IndexPlugin): string {
  const rows = newestFirst(versions).map(({ version, releasedAt, sha256, pluginApi, yanked, advisory, permissions }) => {
    const notes = [
      yanked === undefined ? null : `Withdrawn: ${yanked}`,
      advisory ?? null,
      permissions.hosts.length > 0 ? `Talks to ${permissions.hosts.join(', ')}` : 'Talks to no host',
    ].filter((note) => note !== null)
    return `<li><strong>${escaped(version)}</strong>, ${escaped(releasedAt.slice(0, 10))}, interface ${escaped(pluginApi)}. ${escaped(notes.join('. '))}.
<br><code>${escaped(sha256)}</code></li>`
  })
  return `<section>
<h2>${escaped(name)}</h2>
<p>${escaped(summary)}</p>
<p><code>${escaped(id)}</code>${author ? ` by ${escaped(author.name)}` : ''}</p>
<ul>
${rows.join('\n')}
</ul>
</section>`
}
