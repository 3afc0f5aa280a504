import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Static } from 'typebox'
import type { Manifest } from '#plugins/packages/manifest.ts'
import type { ConfigSchema } from '#plugins/packages/plugin-config.ts'
import { type Command, ToolProblem } from './command.ts'
import { openProject, type Project, readOptional } from './project.ts'
import { typed } from './typed.ts'

/** Beside the manifest that it is made of. */
export const TYPES_FILE = 'plugin-env.d.ts'

type Schema = Static<typeof ConfigSchema>
type Member = Schema['properties'][string]

const HEAD = `// Made of manifest.json by \`carrel-plugin types\`: change the manifest, and make it again.\n`

/** TypeScript of what the manifest's \`config\` and \`userConfig\` describe. */
export function typesOf(manifest: Manifest): string {
  const kinds = [
    ['Config', 'What the administrator has set.', manifest.config],
    ['UserConfig', 'What the reader has set for whom the plugin runs.', manifest.userConfig],
  ] as const
  const interfaces = kinds.map(([name, about, schema]) => interfaceOf(name, about, schema as Schema | undefined))
  return [HEAD, ...interfaces].join('\n')
}

/** How the file of a plugin stands to its manifest. @throws ToolProblem when it cannot be read */
export async function compareTypes({ folder, manifest }: Pick<Project, 'folder' | 'manifest'>): Promise<'missing' | 'current' | 'stale'> {
  const bytes = await readOptional(folder, TYPES_FILE)
  if (bytes === null) return 'missing'
  return bytes.toString('utf8') === typesOf(manifest) ? 'current' : 'stale'
}

function interfaceOf(name: string, about: string, schema: Schema | undefined): string {
  const members = Object.entries(schema?.properties ?? {})
  const head = `${comment(schema?.description ?? about, '')}export interface ${name} {`
  // Without members it takes none: `{}` would take anything.
  if (members.length === 0) return `${head}\n  [member: string]: never\n}\n`
  const lines = members.map(([key, member]) => {
    // What has a default is always there.
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

/** What a person should know who sets it, as far as a type cannot say it. */
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

/** A comment that nothing in the text can end. */
function comment(text: string, indent: string): string {
  const lines = text.replaceAll('*/', '*\\/').split(/\r\n|[\n\r\u2028\u2029]/)
  if (text === '') return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}

export const types: Command = {
  name: 'types',
  usage: '',
  summary: `writes ${TYPES_FILE}: types of what can be set`,
  about: `Makes ${TYPES_FILE} of the manifest's config and userConfig, for definePlugin<Config, UserConfig>({ … }). Make it again when they change; \`validate\` says when it is out of date.`,
  flags: [
    { name: 'check', isSwitch: true, repeatable: false, about: 'Writes nothing, and fails when the file is not as the manifest has it.' },
  ],
  wordsMin: 0,
  wordsMax: 0,
  async run({ folder, isOn, out }) {
    const project = await openProject(folder)
    const isCurrent = (await compareTypes(project)) === 'current'
    if (isOn('check')) {
      if (isCurrent) out.line(`${out.paint('green', '✔')} ${TYPES_FILE} is as the manifest has it.`)
      else out.line(`${out.paint('red', '✖')} ${TYPES_FILE} is not as the manifest has it. Make it again: ${typed('types')}`)
      return isCurrent ? 0 : 1
    }
    const file = path.join(folder, TYPES_FILE)
    if (!isCurrent) {
      await writeFile(file, typesOf(project.manifest)).catch((cause: NodeJS.ErrnoException) => {
        throw new ToolProblem(`${file} cannot be written (${cause.code}).`, { cause })
      })
    }
    out.line(`${out.paint('green', '✔')} ${TYPES_FILE} ${isCurrent ? 'is as the manifest has it already' : 'was written'}.`)
    return 0
  },
}
