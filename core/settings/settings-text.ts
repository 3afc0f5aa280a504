import { CONFIG_FLAG, CONFIG_NAME, hasFileVariable, SETTINGS, type Setting } from '#core/settings/setting-table.ts'

function describeKind(kind: Setting['kind']): string {
  switch (kind.type) {
    case 'integer':
      return `${kind.min} to ${kind.max}`
    case 'choice':
      return kind.choices.join(', ')
    case 'boolean':
      return 'on, off'
    default:
      return kind.type
  }
}

function describeFallback(setting: Setting): string {
  if (setting.fallbackText !== undefined) return setting.fallbackText
  if (setting.fallback === undefined || (Array.isArray(setting.fallback) && setting.fallback.length === 0)) return 'none'
  if (setting.kind.type === 'folder') return `./${String(setting.fallback)}`
  if (setting.kind.type === 'boolean') return setting.fallback ? 'on' : 'off'
  return String(setting.fallback)
}

/** The settings table as Markdown, for docs/settings.md; a test compares the two. */
export function renderSettingsTable(): string {
  const lines = ['| Flag | Environment | Config file | Default | Allowed | What it does |', '|---|---|---|---|---|---|']
  for (const setting of SETTINGS as readonly Setting[]) {
    const flag = setting.flag === null ? '' : `\`--${setting.flag}\``
    const env = hasFileVariable(setting) ? `\`${setting.env}\`, \`${setting.env}_FILE\`` : `\`${setting.env}\``
    lines.push(
      `| ${flag} | ${env} | \`${setting.key}\` | ${describeFallback(setting)} | ${describeKind(setting.kind)} | ${setting.about} |`,
    )
  }
  return `${lines.join('\n')}\n`
}

/** The settings as --help shows them. */
export function renderSettingsHelp(): string {
  const left = (setting: Setting) => {
    if (setting.flag === null) return `${setting.env} (environment)`
    if (setting.kind.type === 'boolean') return `--[no-]${setting.flag} [on|off]`
    return `--${setting.flag} <${setting.kind.type === 'integer' ? 'number' : setting.kind.type === 'choice' ? setting.kind.choices.join('|') : 'text'}>`
  }
  const lines = (SETTINGS as readonly Setting[]).map(
    (setting) => `  ${left(setting)}\n      ${setting.about} Default: ${describeFallback(setting)}.`,
  )
  lines.push(`  --${CONFIG_FLAG} <file>\n      JSON file with settings. Default: ${CONFIG_NAME} in the data folder, or here.`)
  return lines.join('\n')
}
