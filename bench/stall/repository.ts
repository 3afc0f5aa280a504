import { Client } from 'pg'
import { findRunningUrl } from '#core/embedded/embedded-postgres.ts'

const INDEX_BYTES_MAX = 5 * 1_048_576
const PLUGINS = 100
/** Versions of each plugin; their descriptions fill the index. */
const VERSIONS = 100
const REPOSITORIES = 3

/** An index with as many versions as one page of a list has, and as many bytes as an index may have. */
function largeIndex(): object {
  const version = (plugin: number, number: number, changelog: string) => ({
    version: `1.${number}.0`,
    pluginApi: '^1.0',
    server: '>=0.0.1 <9.0.0 || >=10.0.0 <11.0.0',
    url: `packages/${plugin}-${number}.plugin`,
    size: 1_000_000,
    sha256: `${plugin}${number}`.padStart(64, '0'),
    permissions: { hosts: ['api.example.org'], hostsFromConfig: [], library: [], storageKB: 0, credentials: null },
    releasedAt: '2026-11-01T00:00:00Z',
    ...(changelog !== '' && { changelog }),
  })
  const index = (changelog: string) => ({
    ...{ schema: 1, name: 'Large', url: 'https://plugins.example.org/large/', sequence: 1 },
    ...{ issuedAt: '2026-11-01T00:00:00Z', expires: '2027-01-01T00:00:00Z', keys: [], revoked: [] },
    plugins: Array.from({ length: PLUGINS }, (_, plugin) => ({
      ...{ id: `org.example.large-${plugin}`, name: `Large ${plugin}`, summary: 'Returns the largest answers', capabilities: [] },
      versions: Array.from({ length: VERSIONS }, (_, number) => version(plugin, number, changelog)),
    })),
  })
  const room = Math.floor((INDEX_BYTES_MAX - JSON.stringify(index('')).length) / (PLUGINS * VERSIONS)) - 20
  return index('Fixed it. '.repeat(500).slice(0, Math.max(0, room)))
}

/**
 * Inserts plugin repositories with the largest allowed indexes into the database, because the server fetches indexes only by https, from public
 * host names.
 * @returns the id of the first
 */
export async function insertRepositories(dataFolder: string): Promise<string> {
  const url = await findRunningUrl(dataFolder)
  if (!url) throw new Error('The database of the server was not found.')
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const index = JSON.stringify(largeIndex())
    const ids: string[] = []
    for (let number = 0; number < REPOSITORIES; number++) {
      const { rows } = await client.query(
        `INSERT INTO plugin_repositories (url, name, public_key, sequence, expires_at, fetched_at, index)
         VALUES ($1, 'Large', $2, 1, now() + interval '30 days', now(), $3) RETURNING id`,
        [`https://plugins${number}.example.invalid/large/`, `${'A'.repeat(42)}${number}=`, index],
      )
      ids.push(rows[0].id)
    }
    return ids[0] as string
  } finally {
    await client.end()
  }
}
