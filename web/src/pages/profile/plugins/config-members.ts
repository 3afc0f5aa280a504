/** A setting of a plugin as a field of a form. */
export interface ConfigMember {
  key: string
  label: string
  hint: string | null
  kind: 'boolean' | 'choice' | 'number' | 'secret' | 'text'
  isRequired: boolean
  /** Undefined for none. */
  default: unknown
  min: number | undefined
  max: number | undefined
  /** Of a choice. */
  choices: string[]
}

interface Schema {
  fields: readonly { key: string; label: string; type: string; required: boolean; description: string | null; default?: unknown }[]
  /** The JSON Schema that the fields come from. */
  schema?: unknown
}

/** The settings that a form can show; lists and objects keep the value that they have. */
export function configMembers(schema: Schema | null): ConfigMember[] {
  const { properties = {} } = (schema?.schema ?? {}) as { properties?: Record<string, Record<string, unknown>> }
  return (schema?.fields ?? []).flatMap(({ key, label, type, required, description, default: usual }) => {
    const { enum: choices, format, minimum, maximum } = properties[key] ?? {}
    const texts = Array.isArray(choices) ? choices.filter((each) => typeof each === 'string') : []
    const kind = kindOf(type, format === 'password', texts.length > 0)
    if (kind === null) return []
    const bounds = { min: typeof minimum === 'number' ? minimum : undefined, max: typeof maximum === 'number' ? maximum : undefined }
    return [{ key, label, hint: description, kind, isRequired: required, default: usual, choices: texts, ...bounds }]
  })
}

function kindOf(type: string, isSecret: boolean, hasChoices: boolean): ConfigMember['kind'] | null {
  if (type === 'boolean') return 'boolean'
  if (type === 'integer' || type === 'number') return 'number'
  if (type !== 'string') return null
  if (isSecret) return 'secret'
  return hasChoices ? 'choice' : 'text'
}
