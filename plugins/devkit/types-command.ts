import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Static } from 'typebox'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { ConfigSchema } from '#plugins/packages/plugin-config.ts'
import { fileReason, type ToolCommand, ToolProblem } from './command.ts'
import { type Project, readOptional, readValidProject } from './project.ts'
import { typedTool } from './typed.ts'

/** Beside the manifest from which it is generated. */
export const TYPES_FILE = 'plugin-env.d.ts'

type Schema = Static<typeof ConfigSchema>
type Member = Schema['properties'][string]

const HEAD = `// Generated from manifest.json by \`carrel-plugin types\`. Change the manifest and run it again.\n`

/** TypeScript for the manifest's \`config\` and \`userConfig\`. */
export function typesOf(manifest: Manifest): string {
  const kinds = [
    ['Config', 'The settings of the administrator.', manifest.config],
    ['UserConfig', 'The settings of the user for whom the plugin runs.', manifest.userConfig],
  ] as const
  const interfaces = kinds.map(([name, about, schema]) => interfaceOf(name, about, schema as Schema | undefined))
  return [HEAD, ...interfaces].join('\n')
}

/** Compares the generated file with the manifest. @throws ToolProblem when it cannot be read */
export async function compareTypes({ folder, manifest }: Pick<Project, 'folder' | 'manifest'>): Promise<'missing' | 'current' | 'stale'> {
  const bytes = await readOptional(folder, TYPES_FILE)
  if (bytes === null) return 'missing'
  return bytes.toString('utf8') === typesOf(manifest) ? 'current' : 'stale'
}

function interfaceOf(name: string, about: string, schema: Schema | undefined): string {
  const members = Object.entries(schema?.properties ?? {})
  const head = `${comment(schema?.description ?? about, '')}export interface ${name} {`
  // Without members the interface must accept none: `{}` would accept anything.
  if (members.length === 0) return `${head}\n  [member: string]: never\n}\n`
  const lines = members.map(([key, member]) => {
    // A member with a default is always present.
    const isThere = member.default !== undefined || (schema?.required?.includes(key) ?? false)
    return `${comment(describe(member), '  ')}  ${key}${isThere ? '' : '?'}: ${typeOf(member)}\n`
  })
  return `${head}\n${lines.join('')}}\n`
}

function typeOf(member: Member): string {
  if (member.type === 'array') {
    const item = typeOf(member.items)
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`
  }
  if (member.enum !== undefined) return member.enum.map((one) => JSON.stringify(one)).join(' | ')
  return member.type === 'integer' ? 'number' : member.type
}

/** What authors should know about a member that its type cannot express. */
function describe(member: Member): string {
  const { title, description, minimum, maximum, default: standard } = member
  const bounds = [
    ...(minimum !== undefined && maximum !== undefined ? [`From ${minimum} to ${maximum}.`] : []),
    ...(minimum !== undefined && maximum === undefined ? [`At least ${minimum}.`] : []),
    ...(minimum === undefined && maximum !== undefined ? [`At most ${maximum}.`] : []),
  ]
  const given = standard === undefined ? [] : [`Default: ${JSON.stringify(standard)}.`]
  return [...[title, description].filter((text) => text !== undefined), ...bounds, ...given].join('\n')
}

/** A comment that no text can close. */
function comment(text: string, indent: string): string {
  const lines = text.replaceAll('*/', '*\\/').split(/\r\n|[\n\r\u2028\u2029]/)
  if (text === '') return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

export const types: ToolCommand = {
  name: 'types',
  usage: '',
  summary: `generates ${TYPES_FILE}, the types of the configuration`,
  about: `Generates ${TYPES_FILE} from the manifest's config and userConfig, for definePlugin<Config, UserConfig>({ … }). Run it again when they change; \`validate\` reports an outdated file.`,
  flags: [{ name: 'check', isSwitch: true, about: 'Writes nothing, and fails when the file is outdated.' }],
  async run({ folder, isOn, out }) {
    const project = await readValidProject(folder)
    const isCurrent = (await compareTypes(project)) === 'current'
    if (isOn('check')) {
      if (isCurrent) out.line(`${out.paint('green', '✔')} ${TYPES_FILE} is up to date.`)
      else out.line(`${out.paint('red', '✖')} ${TYPES_FILE} is outdated. Generate it again: ${typedTool('types')}`)
      return isCurrent ? 0 : 1
    }
    const file = path.join(folder, TYPES_FILE)
    if (!isCurrent) {
      await writeFile(file, typesOf(project.manifest)).catch((cause: NodeJS.ErrnoException) => {
        throw new ToolProblem(`${file} cannot be written (${fileReason(cause)}).`, { cause })
      })
    }
    out.line(`${out.paint('green', '✔')} ${TYPES_FILE} ${isCurrent ? 'is already up to date' : 'was written'}.`)
    return 0
  },
}
