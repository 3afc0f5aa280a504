import type { Static } from 'typebox'
import Type from 'typebox'
import { Nullable } from '#core/foundation/schema.ts'

/** One member of a configuration, as a form shows it. */
export const ConfigField = Type.Object(
  {
    key: Type.String(),
    label: Type.String(),
    type: Type.String(),
    required: Type.Boolean(),
    description: Nullable(Type.String()),
    default: Type.Optional(Type.Unknown()),
  },
  { title: 'ConfigField' },
)
export type ConfigField = Static<typeof ConfigField>

/** What is read here of the JSON Schema of a manifest, which was checked when the plugin was installed. */
export interface ConfigSchemaShape {
  description?: string
  properties?: Record<string, { type?: string; title?: string; description?: string; default?: unknown }>
  required?: string[]
}

/** The members of a configuration by its JSON Schema, in their order. */
export function configFields({ properties = {}, required = [] }: ConfigSchemaShape): ConfigField[] {
  return Object.entries(properties).map(([key, member]) => ({
    ...{ key, label: member.title ?? key, type: member.type ?? 'string', required: required.includes(key) },
    description: member.description ?? null,
    ...(member.default !== undefined && { default: member.default }),
  }))
}

/** A JSON Schema with its members as a list of fields beside it, for clients whose forms read those. */
export function withConfigFields(schema: unknown): Record<string, unknown> | null {
  if (typeof schema !== 'object' || schema === null) return null
  return { ...schema, fields: configFields(schema as ConfigSchemaShape) }
}
