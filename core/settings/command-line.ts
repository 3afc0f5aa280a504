import { Command, Help } from 'commander'
import { didYouMean } from '#core/foundation/nearest-name.ts'

/** A flag of a command line. */
export interface Flag {
  name: string
  /** A switch takes no value: `--x`, `--no-x` or `--x=on|off`. */
  isSwitch?: boolean
  repeatable?: boolean
  /** A switch that is documented as `on, off`: if the next word is one of these, it is the value. */
  takesWord?: boolean
  /** A switch that may have a value other than on or off, as in `--inspect=9300`; its command checks it. */
  takesValue?: boolean
}

/** A flag with its help text. */
export interface DescribedFlag extends Flag {
  /** The placeholder of its value; switches have none. */
  value?: string
  about: string
}

/** A command with its help text. */
export interface DescribedCommand {
  name: string
  /** The text after the name. */
  usage: string
  /** How many words it takes, where the usage does not tell. */
  words?: readonly [min: number, max: number]
  summary: string
  about: string
  flags: readonly DescribedFlag[]
}

/** How many words a command takes: `<a> [b]` takes one or two. */
export function wordLimits({ usage, words }: Pick<DescribedCommand, 'usage' | 'words'>): readonly [min: number, max: number] {
  const required = usage.split('<').length - 1
  return words ?? [required, required + usage.split('[').length - 1]
}

interface SplitFlags {
  /** Values by flag name, in the order given; switches have the text "true" or "false". */
  values: Map<string, string[]>
  /** Arguments that belong to no flag. */
  words: string[]
  problems: string[]
}

const ON = /^(?:on|true|yes|1)$/i
const isOnOff = (word: string | undefined): word is string => word !== undefined && (ON.test(word) || /^(?:off|false|no|0)$/i.test(word))

/**
 * Parses a command line: `--flag value`, `--flag=value`; everything after `--` is a word. Collects all problems.
 * @param flags the first of a name counts
 */
export function splitFlags(argv: readonly string[], flags: readonly Flag[]): SplitFlags {
  const byName = new Map(flags.toReversed().map((flag) => [flag.name, flag]))
  const { joined, problems } = joinValues(argv, byName)
  const values = new Map<string, string[]>()
  const parser = new Command().helpOption(false)
  for (const flag of byName.values()) {
    const option = parser.createOption(`--${flag.name} <value>`)
    // Collects what the parser would throw at the first problem.
    option.argParser((value: string) => {
      const before = values.get(flag.name) ?? []
      if (before.length > 0 && !flag.repeatable) problems.push(`--${flag.name} is given twice; give it once.`)
      if (flag.isSwitch && !isOnOff(value) && !flag.takesWord && !flag.takesValue)
        problems.push(`--${flag.name} must be on or off, not "${value}".`)
      values.set(flag.name, [...before, flag.isSwitch && isOnOff(value) ? String(ON.test(value)) : value])
    })
    parser.addOption(option)
  }
  const { operands, unknown } = parser.parseOptions(joined)
  return { values, words: [...operands, ...wordsOf(unknown, [...byName.values()], problems)], problems }
}

/**
 * Joins flags and values: `--flag value` becomes `--flag=value`, and switches become on or off. The parser alone would take the word after a switch
 * as its value, and also a flag after a flag whose value is missing.
 */
function joinValues(argv: readonly string[], byName: ReadonlyMap<string, Flag>): { joined: string[]; problems: string[] } {
  const joined: string[] = []
  const problems: string[] = []
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!
    if (word === '--') return { joined: [...joined, ...argv.slice(at)], problems }
    const equals = word.indexOf('=')
    const name = word.slice(2, equals === -1 ? undefined : equals)
    const flag = word.startsWith('--') ? byName.get(name) : undefined
    const negated = word.startsWith('--no-') ? byName.get(name.slice('no-'.length)) : undefined
    const next = argv[at + 1]
    if (flag === undefined && negated?.isSwitch) {
      if (equals === -1) joined.push(`--${negated.name}=false`)
      else problems.push(`--${name} takes no value.`)
    } else if (flag === undefined || equals !== -1) joined.push(word)
    else if (flag.isSwitch) {
      const takesNext = flag.takesWord === true && isOnOff(next)
      joined.push(`--${name}=${takesNext ? next : 'true'}`)
      if (takesNext) at += 1
    } else if (next !== undefined && !next.startsWith('--')) {
      joined.push(`--${name}=${next}`)
      at += 1
    } else problems.push(`--${name} needs a value.`)
  }
  return { joined, problems }
}

/** The words among the arguments that the parser has left from the first unknown flag on. Reports the flags as problems. */
function wordsOf(unknown: readonly string[], flags: readonly Flag[], problems: string[]): string[] {
  const names = flags.flatMap((flag) => (flag.isSwitch ? [flag.name, `no-${flag.name}`] : [flag.name]))
  const words: string[] = []
  for (let at = 0; at < unknown.length; at++) {
    const word = unknown[at]!
    if (word === '--') return [...words, ...unknown.slice(at + 1)]
    if (!word.startsWith('-') || word === '-') {
      words.push(word)
      continue
    }
    const [given = ''] = word.split('=')
    problems.push(`There is no flag ${given}.${didYouMean(given.replace(/^--?/, ''), names, '--')}`)
    // The word after an unknown flag is most likely its value; taking it as a command would only add a second error.
    const next = unknown[at + 1]
    if (given === word && next !== undefined && !next.startsWith('-')) at += 1
  }
  return words
}

/** The layout of help pages. */
export interface HelpLayout {
  /** A command as the user types it here. */
  typed: (words: string) => string
  /** Longer lines of text are wrapped. */
  columns: number
}

const INDENT = 6

/** Each flag with its text below, each command with its summary beside it. */
class Page extends Help {
  readonly #typed: HelpLayout['typed']

  constructor({ typed, columns }: HelpLayout) {
    super()
    this.#typed = typed
    this.helpWidth = columns
    // Below that width the library does not wrap.
    this.minWidthToWrap = 0
  }

  override commandUsage(command: Command): string {
    return this.#typed([command.name(), command.usage()].filter((word) => word !== '').join(' '))
  }

  override subcommandTerm(command: Command): string {
    return [command.name(), command.usage().replace(/ ?\[flags\]$/, '')].filter((word) => word !== '').join(' ')
  }

  override formatItem(term: string, termWidth: number, text: string, helper: Help): string {
    if (!term.startsWith('--')) return `  ${term.padEnd(termWidth)}  ${text}`
    const indent = ' '.repeat(INDENT)
    const wrapped = helper.boxWrap(text, (helper.helpWidth ?? 0) - INDENT)
    return `  ${term}\n${indent}${wrapped.replaceAll('\n', `\n${indent}`)}`
  }
}

function declare({ name, usage, summary, about, flags }: DescribedCommand): Command {
  const command = new Command(name).helpOption(false).helpCommand(false).optionsGroup('Flags:')
  command
    .usage(usage === '' ? '[flags]' : `${usage} [flags]`)
    .summary(summary)
    .description(about)
  for (const { name, value, about } of flags) command.option(`--${name}${value === undefined ? '' : ` <${value}>`}`, about)
  return command
}

/** The help page of a command: its usage, its description, its flags. */
export const renderCommandPage = (command: DescribedCommand, layout: HelpLayout): string => {
  const page = new Page(layout)
  return page.formatHelp(declare(command), page).trimEnd()
}

/** The help page of a program: its usage and all its commands. */
export function renderProgramPage(usage: string, commands: readonly DescribedCommand[], layout: HelpLayout): string {
  const page = new Page(layout)
  const program = new Command('').helpOption(false).helpCommand(false).usage(usage)
  for (const command of commands) program.addCommand(declare(command))
  return page.formatHelp(program, page).trimEnd()
}
