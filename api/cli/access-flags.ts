import { type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { typed } from '#api/cli/typed.ts'
import type { AccessRule, AccessRuleEdit, AgeRuleEdit } from '#core/account/access.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { ListedLibrary } from '#core/scan/library-progress-query.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'

/** A message names this many libraries. */
const NAMED_MAX = 20

/** The flags of a rule of what may be seen. */
export const RULE_FLAGS: readonly DescribedFlag[] = [
  { name: 'libraries', value: 'list', about: 'Names or ids of the only libraries to show, separated by commas, such as "Kids,Comics".' },
  { name: 'all-libraries', isSwitch: true, about: 'Shows all libraries, also those that are added later.' },
  { name: 'age-up-to', value: 'years', about: 'Shows only series for this age or a lower one; those without a rating are hidden.' },
  { name: 'age-not-from', value: 'years', about: 'Hides series for this age or a higher one; those without a rating are shown.' },
  { name: 'unrated', value: 'show|hide', about: 'What happens to series without a rating, if it should be the other way.' },
  { name: 'no-age', isSwitch: true, about: 'Shows series for all ages.' },
]

/** Whether one of the flags of a rule is given. @throws CommandProblem: --library is a setting of the server, and no rule */
export function hasRule({ flag }: Pick<CommandInput, 'flag'>): boolean {
  if (flag('library') !== undefined) throw new CommandProblem('Name the libraries to show with --libraries, not with --library.')
  return RULE_FLAGS.some(({ name }) => flag(name) !== undefined)
}

/** The rule of the flags. What none of them names stays as it was before. @throws CommandProblem */
export function readRule({ flag }: Pick<CommandInput, 'flag'>, libraries: readonly ListedLibrary[], before: AccessRule): AccessRuleEdit {
  const listed = flag('libraries')
  const all = flag('all-libraries')
  if (listed !== undefined && all === 'true') throw new CommandProblem('Give --libraries or --all-libraries, not both.')
  if (listed === undefined && all === 'false') throw new CommandProblem('Name the libraries to show with --libraries.')
  const age = readAgeFlags(flag, before)
  if (listed !== undefined) return { allLibraries: false, libraryIds: findLibraries(listed, libraries), age }
  return all === undefined ? { ...before, age } : { allLibraries: true, libraryIds: [], age }
}

function readAgeFlags(flag: CommandInput['flag'], before: AccessRule): AgeRuleEdit | null {
  const [upTo, notFrom, unrated, noAge] = ['age-up-to', 'age-not-from', 'unrated', 'no-age'].map(flag)
  if ([upTo, notFrom, noAge].filter((each) => each !== undefined).length > 1)
    throw new CommandProblem('Give one of --age-up-to, --age-not-from and --no-age.')
  if (noAge === 'false') throw new CommandProblem('Give the age with --age-up-to or --age-not-from; --no-age removes it.')
  const others = readUnrated(unrated)
  // While the kind of rule stays, so does what happens to series without a rating.
  const unratedBefore = (mode: AgeRuleEdit['mode']) => (before.age?.mode === mode ? { unrated: before.age.unrated } : {})
  if (upTo !== undefined) return { mode: 'up_to', years: readYears('age-up-to', upTo), ...unratedBefore('up_to'), ...others }
  if (notFrom !== undefined) return { mode: 'not_from', years: readYears('age-not-from', notFrom), ...unratedBefore('not_from'), ...others }
  const kept = noAge === undefined ? before.age : null
  if (kept === null && unrated !== undefined) throw new CommandProblem('--unrated needs an age: give --age-up-to or --age-not-from too.')
  return kept === null ? null : { ...kept, ...others }
}

function readUnrated(text: string | undefined): Pick<AgeRuleEdit, 'unrated'> {
  if (text === undefined) return {}
  if (text === 'show' || text === 'hide') return { unrated: text }
  throw new CommandProblem(`--unrated must be show or hide, not "${escapedText(text)}".`)
}

function readYears(name: string, text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text)
  throw new CommandProblem(`--${name} must be a whole number from 0 to 99, not "${escapedText(text)}".`)
}

function findLibraries(listed: string, libraries: readonly ListedLibrary[]): string[] {
  const words = listed
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  if (words.length === 0) throw new CommandProblem(`--libraries must name at least one library. ${describeAll(libraries)}`)
  return [...new Set(words.map((word) => findLibrary(word, libraries)))]
}

function findLibrary(word: string, libraries: readonly ListedLibrary[]): string {
  const found = libraries.filter(({ id, name }) => id === word.toLowerCase() || name.toLowerCase() === word.toLowerCase())
  if (found.length === 1) return found[0]!.id
  if (found.length > 1)
    throw new CommandProblem(
      `More than one library has the name "${escapedText(word)}": ${found.map(({ id }) => id).join(', ')}. Give the id.`,
    )
  const names = libraries.map(({ name }) => name)
  throw new CommandProblem(`There is no library "${escapedText(word)}".${didYouMean(word, names)} ${describeAll(libraries)}`)
}

function describeAll(libraries: readonly ListedLibrary[]): string {
  if (libraries.length === 0) return `There is no library yet. Add one: ${typed('library add DIR')}`
  const more = libraries.length > NAMED_MAX ? `, and ${libraries.length - NAMED_MAX} more` : ''
  const names = libraries
    .slice(0, NAMED_MAX)
    .map(({ id, name }) => `${escapedText(name)}${name.includes(',') ? ` (give its id, ${id})` : ''}`)
  return `There are: ${names.join(', ')}${more}.`
}
