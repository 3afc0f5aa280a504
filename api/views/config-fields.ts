import type { Static } from 'typebox'
import Type from 'typebox'
import { Nullable } from '#core/foundation/schema.ts'

/** One field of a configuration form. */
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

/** The parts of a manifest's JSON Schema that are used here; it was checked at installation. */
export interface ConfigSchemaShape {
  description?: string
  properties?: Record<string, { type?: string; title?: string; description?: string; default?: unknown }>
  required?: string[]
}

/** The fields of a configuration, in the order of its JSON Schema. */
export function configFields({ properties = {}, required = [] }: ConfigSchemaShape): ConfigField[] {
  return Object.entries(properties).map(([key, member]) => ({
    key,
    label: member.title ?? key,
    type: member.type ?? 'string',
    required: required.includes(key),
    description: member.description ?? null,
    ...(member.default !== undefined && { default: member.default }),
  }))
}

/** Adds the members of a JSON Schema as a list of fields, for clients that build forms from those. */
export function withConfigFields(schema: unknown): Record<string, unknown> | null {
  if (typeof schema !== 'object' || schema === null) return null
  return { ...schema, fields: configFields(schema as ConfigSchemaShape) }
}
