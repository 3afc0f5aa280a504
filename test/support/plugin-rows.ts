import type { Knex } from 'knex'
import { requestedPermissions } from '#plugins/packages/permissions.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

/** Bytes of the code and of the README of each version, as of larger plugins. */
const [CODE_BYTES, README_BYTES] = [100_000, 8_000]

/** Stores enabled plugins with so many versions each, of which the last waits; each has credentials for a host that an administrator has entered. */
export async function fillPlugins(database: Knex, { plugins, versions }: { plugins: number; versions: number }): Promise<void> {
  const manifest = readManifest(
    Buffer.from(
      JSON.stringify(
        manifestOf({
          permissions: { networkFromConfig: ['site'], library: ['series.titles'], storage: { quotaKB: 16 } },
          config: {
            type: 'object',
            properties: { site: { type: 'string', title: 'Site' }, order: { type: 'string', enum: ['new', 'old'] } },
          },
          auth: { type: 'apiKey', scope: 'server', bind: { hostFrom: 'site', header: 'X-Key' } },
        }),
      ),
    ),
  )
  await database.raw(
    `INSERT INTO plugins (key, state, granted, config, private_origins)
     SELECT 'org.example.p' || n, 'enabled', CAST(:granted AS jsonb), '{"site": "http://192.168.1.5:8080"}', '{http://192.168.1.5:8080}' FROM generate_series(1, :plugins) n`,
    { granted: JSON.stringify(requestedPermissions(manifest)), plugins },
  )
  await database.raw(
    `INSERT INTO plugin_versions (plugin_id, version, sha256, manifest, code, code_sha256, readme)
     SELECT p.id, '1.' || n || '.0', md5(p.key || n), CAST(:manifest AS jsonb) || jsonb_build_object('id', p.key, 'version', '1.' || n || '.0'),
       repeat(md5(p.key || n), :code), md5(p.key), repeat(md5(p.key), :readme) FROM plugins p, generate_series(1, :versions) n ORDER BY p.key, n`,
    { manifest: JSON.stringify(manifest), versions, code: CODE_BYTES / 32, readme: README_BYTES / 32 },
  )
  await database.raw(`UPDATE plugins p SET version_id = v.id FROM plugin_versions v WHERE v.plugin_id = p.id AND v.version = ?`, [
    `1.${Math.max(versions - 1, 1)}.0`,
  ])
  await database.raw(`INSERT INTO plugin_credentials (plugin_id, field, key_id, sealed) SELECT id, 'token', 'x', '\\x00' FROM plugins`)
  await database.raw('ANALYZE')
}
