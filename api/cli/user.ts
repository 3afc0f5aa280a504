import type { Knex } from 'knex'
import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { type DatabaseUse, withDatabase } from '#api/cli/open-database.ts'
import { readPasswordInput } from '#api/cli/password-input.ts'
import { typed } from '#api/cli/typed.ts'
import type { Accounts } from '#core/account/accounts.ts'
import { PASSWORD_LENGTH_MIN } from '#core/account/password.ts'
import { ROLES, type Role } from '#core/account/permission.ts'
import type { User } from '#core/account/user.ts'
import { tokenKey } from '#core/embedded/data-folder.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'

const PASSWORD_FILE = {
  name: 'password-file',
  value: 'file',
  about: 'File whose first line is the password. Without it the command reads the password from a pipe or prompts for it.',
} as const

/** A command that only reads signs nothing and creates no key. */
const UNUSED_KEY = 'no token is signed with this key'

/** Opens the accounts for a command. A running server caches callers, so it applies changes within five seconds. */
export async function withAccounts<T>(
  input: CommandInput,
  use: DatabaseUse,
  work: (accounts: Accounts, database: Knex) => Promise<T>,
): Promise<T> {
  return await withDatabase(input, use, async ({ database, settings }) => {
    const key = use === 'look' ? UNUSED_KEY : (settings.tokenKey ?? (await tokenKey(settings.dataFolder)))
    const { Accounts } = await import('#core/account/accounts.ts')
    const accounts = new Accounts({ database, settings, tokenKey: Buffer.from(key), log: input.log })
    try {
      return await work(accounts, database)
    } finally {
      await accounts.close()
    }
  })
}

const PAGE = 500

export async function listAllUsers(accounts: Accounts): Promise<User[]> {
  const found: User[] = []
  for (;;) {
    const { items } = await accounts.listUsers({ filter: {}, offset: found.length, limit: PAGE })
    found.push(...items)
    if (items.length < PAGE) return found
  }
}

/** Finds a user by name or e-mail address. @throws CommandProblem if there is none */
export async function chooseUser(accounts: Accounts, login: string): Promise<User> {
  const user = await accounts.findUser(login)
  if (user) return user
  const names = (await listAllUsers(accounts)).map((each) => each.username)
  const none = names.length === 0 ? ` There are no users yet. Create one: ${typed('user add NAME')}` : ''
  throw new CommandProblem(`There is no user "${escapedText(login)}".${didYouMean(login, names)}${none}`)
}

function readRole(text: string, what = '--role'): Role {
  const role = ROLES.find((each) => each === text)
  if (!role) throw new CommandProblem(`${what} must be one of ${ROLES.join(', ')}, not "${text}".${didYouMean(text, ROLES)}`)
  return role
}

export const userAdd: Command = {
  name: 'user add',
  usage: '<name>',
  summary: 'creates a user, such as the first administrator',
  about: `Creates a user. The command reads the password (at least ${PASSWORD_LENGTH_MIN} characters) from --password-file or a pipe, or prompts for it.`,
  flags: [
    { name: 'role', value: ROLES.join('|'), about: 'Role of the user. Default: reader.' },
    { name: 'email', value: 'address', about: 'E-mail address, which can also be used to sign in. Default: <name>@carrel.localhost.' },
    PASSWORD_FILE,
  ],
  async run(input) {
    const username = input.words[0]!
    const role = readRole(input.flag('role') ?? 'reader')
    const email = input.flag('email') ?? `${username.replace(/[^A-Za-z0-9._-]+/g, '-')}@carrel.localhost`
    const password = await readPasswordInput({ file: input.flag('password-file'), cwd: input.cwd, stop: input.stop })
    const user = await withAccounts(input, 'make', (accounts) => accounts.createUser({ username, email, password, role }, null))
    input.out.line(`Created the user ${user.username} with the role ${user.role}.`)
    return 0
  },
}

export const userResetPassword: Command = {
  name: 'user reset-password',
  usage: '<name>',
  summary: 'sets a new password for a user',
  about:
    'Sets a new password for a user, given by name or e-mail address, and enables a disabled account. It ends the sessions of the user.',
  flags: [PASSWORD_FILE, { name: 'revoke-api-keys', isSwitch: true, about: 'Also revokes all API keys of the user.' }],
  async run(input) {
    const login = input.words[0]!
    const password = await readPasswordInput({ file: input.flag('password-file'), cwd: input.cwd, stop: input.stop })
    await withAccounts(input, 'change', async (accounts) => {
      const user = await chooseUser(accounts, login)
      const revokeApiKeys = input.flag('revoke-api-keys') === 'true'
      const { apiKeysValid } = await accounts.editUser(user.id, { password, isActive: true, revokeApiKeys }, null)
      const keys =
        apiKeysValid === 0 ? '' : ` ${apiKeysValid} API ${apiKeysValid === 1 ? 'key' : 'keys'} still work: --revoke-api-keys ends them.`
      input.out.line(`${user.username} has a new password.${keys}`)
    })
    return 0
  },
}

export const userList: Command = {
  name: 'user list',
  usage: '',
  summary: 'lists the users',
  about: 'Lists the users: name, e-mail address, role, and when they last signed in.',
  flags: [],
  run: (input) =>
    withAccounts(input, 'look', async (accounts) => {
      const users = await listAllUsers(accounts)
      for (const { username, email, role, isActive, lastLoginAt } of users)
        input.out.line(
          `${username}  ${email}  ${role}${isActive ? '' : ', disabled'}  last signed in ${lastLoginAt?.slice(0, 10) ?? 'never'}`,
        )
      if (users.length === 0) input.out.line(`There is no user yet. Create one: ${typed('user add NAME --role admin')}`)
      return 0
    }),
}

export const userRemove: Command = {
  name: 'user remove',
  usage: '<name>',
  summary: 'removes a user, with progress, ratings and keys',
  about:
    'Removes a user, given by name or e-mail address, with reading progress, ratings and API keys. The last administrator cannot be removed.',
  flags: [],
  run: (input) =>
    withAccounts(input, 'change', async (accounts) => {
      const user = await chooseUser(accounts, input.words[0] as string)
      await accounts.removeUser(user.id, null)
      input.out.line(`Removed ${user.username}.`)
      return 0
    }),
}

export const userRole: Command = {
  name: 'user role',
  usage: `<name> <${ROLES.join('|')}>`,
  summary: 'changes the role of a user',
  about: 'Changes the role of a user, given by name or e-mail address. The last administrator keeps the role.',
  flags: [],
  run: (input) =>
    withAccounts(input, 'change', async (accounts) => {
      const role = readRole(input.words[1] as string, 'The role')
      const user = await chooseUser(accounts, input.words[0] as string)
      await accounts.editUser(user.id, { role }, null)
      input.out.line(`${user.username} is ${role} now.`)
      return 0
    }),
}
