import { Manifest } from '#plugins/packages/manifest.ts'

/** Descriptions that editors show for the members of a manifest. */
const DESCRIPTIONS = {
  manifestVersion: 'Always 1.',
  id: 'Never changes: lower case, with a dot or hyphen, such as org.example.books.',
  name: 'Display name.',
  version: 'Semantic version. Every published package has a new, higher version.',
  summary: 'What it does, in a sentence.',
  engine: 'The version of the plugin interface that it needs.',
  capabilities: 'The functions that it offers. main.js must define every method named here.',
  permissions:
    'The permissions that it requests. The administrator sees and must grant them; an update that requests more waits for consent.',
  auth: 'Credentials that the server adds to requests.',
  config: 'JSON Schema of the settings for administrators.',
  userConfig: 'JSON Schema of the settings for each user.',
  limits: 'Limits above the defaults, shown to the administrator.',
} as const satisfies Partial<Record<keyof typeof Manifest.properties, string>>

/** Removes keywords that only this server's tests use. */
const withoutOwn = (name: string, member: unknown) => (name === 'x-limited-by' ? undefined : member)

/** JSON Schema of `manifest.json`, for editors and other tools. */
export function describeManifest(): Record<string, unknown> {
  const { properties, ...schema } = JSON.parse(JSON.stringify(Manifest, withoutOwn)) as { properties: Record<string, object> }
  for (const [name, description] of Object.entries(DESCRIPTIONS)) properties[name] = { description, ...properties[name] }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Manifest of a plugin for Carrel',
    ...schema,
    properties: { $schema: { type: 'string' }, ...properties },
  }
}
