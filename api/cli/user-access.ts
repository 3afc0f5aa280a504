import type { Knex } from 'knex'
import { hasRule, RULE_FLAGS, readRule } from '#api/cli/access-flags.ts'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { count } from '#api/cli/library-report.ts'
import type { DatabaseUse } from '#api/cli/open-database.ts'
import { typed } from '#api/cli/typed.ts'
import { chooseUser, withAccounts } from '#api/cli/user.ts'
import { type Access, type AccessRule, restricts, type VisibleLibrary } from '#core/account/access.ts'
import type { User } from '#core/account/user.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { type ListedLibrary, listLibrariesByName } from '#core/scan/library-progress-query.ts'

/** Finds the user of the first word, and runs the work of a command. */
async function withUser(input: CommandInput, use: DatabaseUse, work: (database: Knex, user: User) => Promise<void>): Promise<number> {
  return await withAccounts(input, use, async (accounts, database) => {
    await work(database, await chooseUser(accounts, input.words[0] as string))
    return 0
  })
}

export const userShow: Command = {
  name: 'user show',
  usage: '<name>',
  summary: 'shows a user, and what they may see',
  about: 'Shows a user, given by name or e-mail address: role, the rules of what they may see, and how much that is in each library.',
  flags: [],
  run: (input) => withUser(input, 'look', (database, user) => show(input, database, user)),
}

export const userAccess: Command = {
  name: 'user access',
  usage: '<name>',
  summary: 'sets which libraries and ages a user may see',
  about:
    'Sets which libraries a user, given by name or e-mail address, may see, and series for which ages. What no flag names stays as it is. It takes effect at once, also in a running server. Administrators see everything.',
  flags: RULE_FLAGS,
  run: (input) =>
    withUser(input, 'change', async (database, user) => {
      if (!hasRule(input)) throw new CommandProblem(`Give at least one of ${RULE_FLAGS.map(({ name }) => `--${name}`).join(', ')}.`)
      const { getAccess, setAccess } = await import('#core/account/access-store.ts')
      const before = await getAccess(database, user.id)
      const rule = readRule(input, await listLibrariesByName(database), before)
      if (user.role === 'admin' && restricts(rule))
        throw new CommandProblem(
          `${user.username} is an administrator, and administrators see everything. Change the role first: ${typed(`user role ${user.username} reader`)}`,
        )
      await setAccess(database, null, user.id, rule)
      await show(input, database, user)
    }),
}

async function show({ out }: CommandInput, database: Knex, user: User): Promise<void> {
  const [{ getAccess }, { readVisible }] = await Promise.all([
    import('#core/account/access-store.ts'),
    import('#core/maintenance/visible-query.ts'),
  ])
  const [access, { libraries }] = await Promise.all([getAccess(database, user.id), readVisible(database, null, user.id)])
  const { username, email, role, isActive, lastLoginAt } = user
  out.line(`${username}  ${email}  ${role}${isActive ? '' : ', disabled'}  last signed in ${lastLoginAt?.slice(0, 10) ?? 'never'}`)
  const names = libraries.map(({ libraryId, libraryName }) => ({ id: libraryId, name: libraryName }))
  out.line(`Libraries:    ${describeLibraries(access, names)}`)
  out.line(`Ages:         ${describeAge(access.age)}`)
  out.line(`Sharing tags: ${describeTags(access)}`)
  for (const library of libraries) out.line(`  ${describeLibrary(library)}`)
}

type ListedName = Pick<ListedLibrary, 'id' | 'name'>

/** A rule in one line. */
export const describeRule = (rule: AccessRule, libraries: readonly ListedName[]): string =>
  `libraries: ${describeLibraries(rule, libraries)}; ages: ${describeAge(rule.age)}`

function describeLibraries({ allLibraries, libraryIds }: AccessRule, libraries: readonly ListedName[]): string {
  if (allLibraries) return 'all'
  const names = libraries.filter(({ id }) => libraryIds.includes(id)).map(({ name }) => escapedText(name))
  return names.length === 0 ? 'none' : names.join(', ')
}

function describeAge(age: AccessRule['age']): string {
  if (age === null) return 'all'
  return `${age.mode === 'up_to' ? 'up to' : 'not from'} ${age.years}; series without a rating are ${age.unrated === 'show' ? 'shown' : 'hidden'}`
}

function describeTags({ sharingTags }: Access): string {
  const of = (mode: 'allow' | 'deny') =>
    sharingTags.filter(({ accessMode }) => accessMode === mode).map(({ sharingTagName }) => escapedText(sharingTagName))
  const [allowed, denied] = [of('allow'), of('deny')]
  const parts = [...(allowed.length > 0 ? [`only ${allowed.join(', ')}`] : []), ...(denied.length > 0 ? [`not ${denied.join(', ')}`] : [])]
  return parts.length === 0 ? 'no rules' : parts.join('; ')
}

function describeLibrary({ libraryName, isVisible, visible, hidden }: VisibleLibrary): string {
  const name = escapedText(libraryName)
  if (!isVisible) return `${name}: hidden`
  const causes = (
    [
      ['age', hidden.age],
      ['sharing tags', hidden.tag],
    ] as const
  ).filter(([, { series }]) => series > 0)
  const hides = causes.map(([cause, { series }]) => `${count(series, 'series')} hidden by ${cause}`)
  return [`${name}: ${count(visible.series, 'series')}, ${count(visible.books, 'book')}`, ...hides].join('; ')
}
