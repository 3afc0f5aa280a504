import { hasRule, RULE_FLAGS, readRule } from '#api/cli/access-flags.ts'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { typed } from '#api/cli/typed.ts'
import { chooseUser, listAllUsers, withAccounts } from '#api/cli/user.ts'
import { describeRule } from '#api/cli/user-access.ts'
import { NO_RULE } from '#core/account/access.ts'
import type { Accounts } from '#core/account/accounts.ts'
import type { ApiKey } from '#core/account/api-key.ts'
import type { Caller } from '#core/account/caller.ts'
import { permissionsOf, type User } from '#core/account/user.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { listLibrariesByName } from '#core/scan/library-progress-query.ts'

/** More than any user may have. */
const KEYS_MAX = 500

/** The operator acts for the user: a key cannot have more permissions than its user. */
const callerOf = (user: User): Caller => ({
  userId: user.id,
  username: user.username,
  permissions: new Set(permissionsOf(user)),
  narrowedBy: null,
  via: 'token',
})

async function listKeys(accounts: Accounts, users: readonly User[]): Promise<{ key: ApiKey; user: User }[]> {
  const found: { key: ApiKey; user: User }[] = []
  for (const user of users) {
    const { items } = await accounts.listApiKeys(callerOf(user), { offset: 0, limit: KEYS_MAX })
    for (const key of items) found.push({ key, user })
  }
  return found
}

const day = (time: string | null, never: string) => time?.slice(0, 10) ?? never

function describeState({ isActive, expiresAt }: ApiKey): string {
  if (!isActive) return 'revoked'
  if (expiresAt !== null && Date.parse(expiresAt) < Date.now()) return `ended ${day(expiresAt, '')}`
  return expiresAt === null ? 'valid' : `valid until ${day(expiresAt, '')}`
}

/** A day includes its last second. */
function readEnd(text: string | undefined): string | null {
  if (text === undefined) return null
  const at = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59Z` : text)
  if (Number.isNaN(at)) throw new CommandProblem(`--expires must be a day such as 2030-12-31, not "${escapedText(text)}".`)
  return new Date(at).toISOString()
}

const create: Command = {
  name: 'api-key create',
  usage: '<user> <name>',
  summary: 'creates an API key for a user',
  about:
    'Creates an API key for a user, given by name or e-mail address, and shows it once. It has the permissions of the user, or fewer, and may see less, such as only some libraries.',
  flags: [
    {
      name: 'permissions',
      value: 'list',
      about: 'Its permissions, separated by commas, such as books-read,progress-write. Default: all of the user.',
    },
    { name: 'expires', value: 'day', about: 'Last day on which it is valid, such as 2030-12-31. Default: none.' },
    ...RULE_FLAGS,
  ],
  async run(input) {
    const [login, given] = input.words as [string, string]
    const name = given.trim()
    if (name === '') throw new CommandProblem('Give the API key a name.')
    const expiresAt = readEnd(input.flag('expires'))
    const permissions = input
      .flag('permissions')
      ?.split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '')
    return await withAccounts(input, 'change', async (accounts, database) => {
      const access = hasRule(input) ? readRule(input, await listLibrariesByName(database), NO_RULE) : null
      const user = await chooseUser(accounts, login)
      const made = await accounts.createApiKey({ name, expiresAt, access, ...(permissions && { permissions }) }, callerOf(user))
      input.out.line(`Created the API key "${escapedText(made.name)}" of ${user.username}. It is shown only once:`)
      input.out.line(made.key)
      return 0
    })
  },
}

const list: Command = {
  name: 'api-key list',
  usage: '[user]',
  summary: 'lists the API keys, of one user or of all',
  about:
    'Lists the API keys: prefix, owner, name, whether it is valid, when it was last used, and what it may see if it has a rule of its own.',
  flags: [],
  run: (input) =>
    withAccounts(input, 'look', async (accounts, database) => {
      const [login] = input.words
      const users = login === undefined ? await listAllUsers(accounts) : [await chooseUser(accounts, login)]
      const all = await listKeys(accounts, users)
      const libraries = await listLibrariesByName(database)
      for (const { key, user } of all) {
        const rule = key.access ? `; ${describeRule(key.access, libraries)}` : ''
        input.out.line(
          `${key.keyPrefix}  ${user.username}  ${escapedText(key.name)}  ${describeState(key)}, last used ${day(key.lastUsedAt, 'never')}${rule}`,
        )
      }
      if (all.length === 0) input.out.line(`There is no API key yet. Create one: ${typed('api-key create USER NAME')}`)
      return 0
    }),
}

/** Finds a key by its prefix, its id or, if it is unique, its name. @throws CommandProblem */
function chooseKey(all: readonly { key: ApiKey; user: User }[], word: string): { key: ApiKey; user: User } {
  const found = all.filter(
    ({ key }) => key.id === word || key.keyPrefix === word || word.startsWith(`${key.keyPrefix}_`) || key.name === word,
  )
  if (found.length === 1) return found[0]!
  const hint = `List all: ${typed('api-key list')}`
  if (found.length > 1) throw new CommandProblem(`More than one API key has the name "${escapedText(word)}". Give its prefix. ${hint}`)
  throw new CommandProblem(`There is no such API key. ${hint}`)
}

const revoke: Command = {
  name: 'api-key revoke',
  usage: '<key>',
  summary: 'revokes an API key',
  about: 'Revokes an API key, given by its prefix, id or name. A running server refuses it within seconds.',
  flags: [],
  run: (input: CommandInput) =>
    withAccounts(input, 'change', async (accounts) => {
      const { key, user } = chooseKey(await listKeys(accounts, await listAllUsers(accounts)), input.words[0] as string)
      await accounts.editApiKey(key.id, { isActive: false }, callerOf(user))
      input.out.line(`Revoked the API key "${escapedText(key.name)}" of ${user.username} (${key.keyPrefix}).`)
      return 0
    }),
}

export const apiKeyCommands: readonly Command[] = [create, list, revoke]
