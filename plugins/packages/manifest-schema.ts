import { Manifest } from '#plugins/packages/manifest.ts'

/** What editors show beside the members of a manifest. */
const DESCRIPTIONS = {
  manifestVersion: 'Always 1.',
  id: 'Never changes: lower case, with a dot or hyphen, such as org.example.books.',
  name: 'As people read it.',
  version: 'Semantic version. Every package that is given away has another, and a later one.',
  summary: 'What it does, in a sentence.',
  engine: 'Which interface of the server it was written for.',
  capabilities: 'What it can do. main.js must define every method that is named here.',
  permissions: 'What it wants to be allowed. The administrator is shown all of it and must agree; more in an update waits for consent.',
  auth: 'Credentials that the server adds to requests.',
  config: 'JSON Schema of what the administrator can set.',
  userConfig: 'JSON Schema of what every reader can set.',
  limits: 'What it needs beyond the default limits; shown to the administrator.',
} as const satisfies Partial<Record<keyof typeof Manifest.properties, string>>

/** What only this server's own tests know is no keyword for others. */
const withoutOwn = (name: string, member: unknown) => (name === 'x-limited-by' ? undefined : member)

/** JSON Schema of `manifest.json`, for editors and for tools that know nothing of this server. */
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
