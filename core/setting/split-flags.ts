import { didYouMean } from '#core/setting/nearest-name.ts'

/** A flag that a command line may carry. */
export interface Flag {
  name: string
  /** A switch takes no value: `--x`, `--no-x` or `--x=on|off`. */
  isSwitch: boolean
  repeatable: boolean
  /** A switch that is documented as `on, off`: the next word is its value when it is one of these. */
  takesWord?: boolean
  /** A switch that may carry more than on or off, as in `--inspect=9300`; its command checks it. */
  takesValue?: boolean
}

export interface SplitFlags {
  /** Values by flag name, in the order given; switches have the text "true" or "false". */
  values: Map<string, string[]>
  /** What stands outside of flags. */
  words: string[]
  mistakes: string[]
}

const ON = /^(?:on|true|yes|1)$/i
const isOnOff = (word: string | undefined): word is string => word !== undefined && (ON.test(word) || /^(?:off|false|no|0)$/i.test(word))

/** Takes a command line apart: `--flag value`, `--flag=value`; everything after `--` is a word. */
export function splitFlags(argv: readonly string[], flags: readonly Flag[]): SplitFlags {
  const found: SplitFlags = { values: new Map(), words: [], mistakes: [] }
  const names = flags.flatMap((flag) => (flag.isSwitch ? [flag.name, `no-${flag.name}`] : [flag.name]))
  const add = (flag: Flag, value: string) => {
    const before = found.values.get(flag.name) ?? []
    if (before.length > 0 && !flag.repeatable) found.mistakes.push(`--${flag.name} is given twice; give it once.`)
    found.values.set(flag.name, [...before, value])
  }

  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') {
      found.words.push(...argv.slice(i + 1))
      break
    }
    if (!word.startsWith('-') || word === '-') {
      found.words.push(word)
      continue
    }
    const [, name, value] = /^--?([^=]*)(?:=([\s\S]*))?$/.exec(word)!
    const flag = flags.find((each) => each.name === name)
    const negated = name!.startsWith('no-') ? flags.find((each) => each.isSwitch && each.name === name!.slice(3)) : undefined
    if (!word.startsWith('--') || (!flag && !negated)) {
      found.mistakes.push(`There is no flag ${word.split('=')[0]}.${didYouMean(name!, names, '--')}`)
      // The word after an unknown flag is most likely its value; taking it for a command would only add a second complaint.
      if (value === undefined && i + 1 < argv.length && !argv[i + 1]!.startsWith('-')) i++
    } else if (negated) {
      if (value === undefined) add(negated, 'false')
      else found.mistakes.push(`--${name} takes no value.`)
    } else if (flag!.isSwitch) {
      const next = value ?? (flag!.takesWord && isOnOff(argv[i + 1]) ? argv[++i] : 'true')
      add(flag!, isOnOff(next) ? String(ON.test(next)) : next!)
      if (!isOnOff(next) && !flag!.takesWord && !flag!.takesValue) found.mistakes.push(`--${name} must be on or off, not "${next}".`)
    } else if (value !== undefined) add(flag!, value)
    else if (i + 1 < argv.length && !argv[i + 1]!.startsWith('--')) add(flag!, argv[++i]!)
    else found.mistakes.push(`--${name} needs a value.`)
  }
  return found
}
