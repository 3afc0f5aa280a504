import { createInterface } from 'node:readline/promises'
import type { PluginHostServices } from '#api/areas/plugins.ts'
import { type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { count } from '#api/cli/library-report.ts'
import { printRunning } from '#api/cli/plugin-needs.ts'
import type { Terminal } from '#api/cli/terminal.ts'
import { typedOn } from '#api/cli/typed.ts'
import { briefText, escapedText, messageLines } from '#core/foundation/stranger-text.ts'
import type { Review } from '#plugins/host/consent-review.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { PluginLifecycle, SwitchedPlugin } from '#plugins/host/plugin-lifecycle.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'

/** Exit code when a person has to consent first; 1 is an error, and 2 is what shells use. */
export const WOULD_ASK = 3

export const CONSENT_FLAGS = [
  { name: 'yes', isSwitch: true, about: 'Consents to what this call prints, unread.' },
  { name: 'sha256', value: 'hash', about: 'Consents to the package with this SHA-256, which you have reviewed, and to no other.' },
] as const

/** The hosts in the own network that an administrator has opened to a plugin. */
export const describePrivateOrigins = ({ privateOrigins }: Pick<InstalledPlugin, 'privateOrigins'>): string[] =>
  privateOrigins.map((origin) => `may reach ${escapedText(origin)} in your own network, which an administrator allowed`)

/** Users who had enabled the plugin and agreed to less, or to something else. */
export function printPauses(out: Terminal, { pausedUsers }: Pick<SwitchedPlugin, 'pausedUsers'>): void {
  if (pausedUsers > 0) out.line(`It pauses for ${count(pausedUsers, 'user')} until they agree again.`)
}

export async function printConsented(
  input: Pick<CommandInput, 'out' | 'settings'>,
  host: Pick<PluginHostServices, 'plugins'>,
  after: SwitchedPlugin,
): Promise<void> {
  await printRunning(input, host, after, 'You have consented; it')
  printPauses(input.out, after)
}

/**
 * Prints exactly one package for the person who consents: its record, what differs from what was agreed to, and its hash.
 * @param manifest of the package, whose id was checked: see checkReservedId
 * @param more lines of the program about it
 */
export async function printReview(
  out: Terminal,
  review: Review,
  manifest: Pick<Manifest, 'summary'>,
  more: readonly string[] = [],
): Promise<void> {
  const [{ linesOf }, { describeDifference }, { unsignedRemarks }] = await Promise.all([
    import('#api/views/plugin-review-view.ts'),
    import('#plugins/consent/record-lines.ts'),
    import('#plugins/host/plugin-signature.ts'),
  ])
  const { version, sha256, record, agreed, differences } = review
  out.message(`${record.manifest.id} ${version}. Lines that begin with > are words of its author.${agreed === null ? ' It' : ''}`)
  // First: below the whole list, few would read them.
  if (agreed !== null) {
    out.line(
      differences.length === 0
        ? 'Nothing differs from what was agreed to.'
        : 'This differs from what was agreed to: + is new, and - is no longer so.',
    )
    for (const line of describeDifference(agreed.record, record)) out.line(line)
    if (agreed.consentedAt === null) out.line('It ran before consents were stored. Nobody has consented to this record yet.')
    out.line('In all, it')
  }
  for (const line of linesOf(record, manifest)) out.line(line)
  const unsigned = unsignedRemarks(record.manifest.id, record.signedBy)
  for (const line of [...unsigned, ...more.filter((line) => !unsigned.includes(line))]) out.message(`  ${line}`)
  out.line(`SHA-256 ${sha256}`)
}

/** The value of `--sha256`. @throws CommandProblem when it is no SHA-256 */
export function givenHash(flag: CommandInput['flag']): string | undefined {
  const given = flag('sha256')?.toLowerCase()
  if (given !== undefined && !/^[0-9a-f]{64}$/.test(given))
    throw new CommandProblem(`--sha256 must be a SHA-256, which has 64 hexadecimal digits, not ${briefText(given)}.`)
  return given
}

/** @throws CommandProblem when `--sha256` names another package, or is no SHA-256 */
export function checkGiven(flag: CommandInput['flag'], sha256: string): void {
  const given = givenHash(flag)
  if (given === undefined || given === sha256) return
  const message = `The package has the SHA-256 ${sha256}, not ${given}. You have not consented to it. Review it, and give its SHA-256.`
  throw new CommandProblem(messageLines(message).join('\n'))
}

/**
 * Consents to a package that was printed, if the person says so: by a flag, or on the terminal. Null if not; then it says how.
 * @throws CommandProblem when `--sha256` names another package
 */
export async function consentToShown(
  input: Pick<CommandInput, 'settings' | 'flag' | 'out' | 'stop'>,
  { pluginLifecycle }: { pluginLifecycle: Pick<PluginLifecycle, 'consent'> },
  { id, key }: Pick<InstalledPlugin, 'id' | 'key'>,
  { sha256 }: Pick<Review, 'sha256'>,
  stdin: NodeJS.ReadableStream & { isTTY?: boolean } = process.stdin,
): Promise<SwitchedPlugin | null> {
  const { flag, out, stop } = input
  checkGiven(flag, sha256)
  const says = flag('sha256') !== undefined || flag('yes') === 'true' || (stdin.isTTY === true && (await asksYes(stdin, stop)))
  if (says) return await pluginLifecycle.consent(id, { sha256 })
  out.line(
    `You have not consented. To consent to exactly this package: ${typedOn(input.settings, `plugin consent ${key} --sha256 ${sha256}`)}`,
  )
  return null
}

/** Only the word, or its first letter, counts. The end of the input and Ctrl-C are a no. */
async function asksYes(stdin: NodeJS.ReadableStream, stop: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: process.stderr })
  const ended = new AbortController()
  lines.once('SIGINT', () => ended.abort())
  lines.once('close', () => ended.abort())
  try {
    const answer = await lines.question('Do you consent to all of this? Type yes or no: ', {
      signal: AbortSignal.any([stop, ended.signal]),
    })
    return ['y', 'yes'].includes(answer.trim().toLowerCase())
  } catch {
    return false
  } finally {
    lines.close()
  }
}
