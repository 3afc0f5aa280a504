import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { newestFirst } from '#plugins/repositories/index-entry.ts'
import type { IndexPlugin, PermissionSummary, RepositoryIndex } from '#plugins/repositories/index-file.ts'

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)

/** No scripts, nothing from other hosts, whatever server the page is on; it needs only its own style, and the icons in it. */
const POLICY = `default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`
const STYLE =
  'body{font:1rem/1.5 sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}code,pre{overflow-wrap:anywhere;white-space:pre-wrap}img{width:3rem;height:3rem;float:right}'

/** What the index does not have of a plugin. */
export interface ShownPlugin {
  /** As a `data:` URL. */
  icon: string | null
  /** What its newest version asks for, as lines that administrators read. */
  asks: readonly string[]
}

/** As one word of a command line. */
const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** The HTML page of a repository, to publish beside its index: its plugins, and the URL, the fingerprint and the commands for adding it. */
export function renderIndexPage(index: RepositoryIndex, shown: ReadonlyMap<string, ShownPlugin> = new Map()): string {
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
<p>In the checkout of the server: <code>${escaped(`npm run carrel -- plugin repository add ${word(index.url)}`)}</code></p>
<p>Before you trust it, compare the fingerprint that your server shows with this:</p>
<ul>
${fingerprints.join('\n')}
</ul>
${index.plugins.map((plugin) => renderPlugin(plugin, index, shown.get(plugin.id))).join('\n')}
<p>Issued <time datetime="${escaped(index.issuedAt)}">${escaped(index.issuedAt.slice(0, 10))}</time>, number ${index.sequence};
it expires <time datetime="${escaped(index.expires)}">${escaped(index.expires.slice(0, 10))}</time>.</p>
</body>
</html>
`
}

/** The index does not say which hosts authors propose for settings; what the newest version asks for does. */
function describeHosts({ hosts, hostsFromConfig }: PermissionSummary): string {
  const entered = hostsFromConfig.map((key) => `the host in its setting ${key}, which an administrator enters or its author proposes`)
  const all = [...(hosts.length > 0 ? [hosts.join(', ')] : []), ...entered]
  return all.length === 0 ? 'Talks to no host' : `Talks to ${all.join('; and to ')}`
}

function renderPlugin({ id, name, summary, author, versions }: IndexPlugin, { url, keys }: RepositoryIndex, shown?: ShownPlugin): string {
  const fingerprint = fingerprintOf(keys[0] as string)
  // URLSearchParams, because it encodes any text.
  const link = `carrel://install?${new URLSearchParams({ repository: url, plugin: id, fingerprint })}`
  const icon = shown?.icon ? `<img alt="" src="${escaped(shown.icon)}">\n` : ''
  const asks = shown ? `<details>\n<summary>What it asks for</summary>\n<pre>${escaped(shown.asks.join('\n'))}</pre>\n</details>\n` : ''
  const rows = newestFirst(versions).map(({ version, releasedAt, sha256, pluginApi, yanked, advisory, permissions }) => {
    const notes = [yanked === undefined ? null : `Withdrawn: ${yanked}`, advisory ?? null, describeHosts(permissions)].filter(
      (note) => note !== null,
    )
    return `<li><strong>${escaped(version)}</strong>, ${escaped(releasedAt.slice(0, 10))}, interface ${escaped(pluginApi)}. ${escaped(notes.join('. '))}.
<br><code>${escaped(sha256)}</code></li>`
  })
  return `<section>
${icon}<h2>${escaped(name)}</h2>
<p>${escaped(summary)}</p>
<p><code>${escaped(id)}</code>${author ? ` by ${escaped(author.name)}` : ''}</p>
<p><a href="${escaped(link)}">Install it</a>, or in the checkout of the server: <code>${escaped(`npm run carrel -- plugin repository install ${word(url)} ${word(id)}`)}</code></p>
${asks}<ul>
${rows.join('\n')}
</ul>
</section>`
}
