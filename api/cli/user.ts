import { type Command, type CommandInput, CommandProblem } from '#api/cli/command.ts'
import { openCommandDatabase } from '#api/cli/open-database.ts'
import { askPassword } from '#api/cli/password-input.ts'
import { typed } from '#api/cli/typed.ts'
import type { Accounts } from '#core/account/accounts.ts'
import { PASSWORD_LENGTH_MIN } from '#core/account/password.ts'
import { ROLES, type Role } from '#core/account/permission.ts'
import { tokenKey } from '#core/database/data-folder.ts'
import { didYouMean } from '#core/setting/nearest-name.ts'

const PASSWORD_FILE = {
  name: 'password-file',
  value: 'file',
  isSwitch: false,
  repeatable: false,
  about: 'File whose first line is the password. Without it the password is read from a pipe or typed.',
} as const

async function withAccounts<T>(input: CommandInput, use: 'change' | 'make', work: (accounts: Accounts) => Promise<T>): Promise<T> {
  const opened = await openCommandDatabase(input, use)
  try {
    const key = input.settings.tokenKey ?? (await tokenKey(opened.settings.dataFolder))
    const { openAccounts } = await import('#core/account/accounts.ts')
    const accounts = openAccounts({ database: opened.database, settings: input.settings, tokenKey: Buffer.from(key), log: input.log })
    try {
      return await work(accounts)
    } finally {
      await accounts.close()
    }
  } finally {
    await opened.close()
  }
}

function readRole(text: string | undefined): Role {
  const role = ROLES.find((each) => each === (text ?? 'reader'))
  if (!role) throw new CommandProblem(`--role must be one of ${ROLES.join(', ')}, not "${text}".${didYouMean(text!, ROLES)}`)
  return role
}

export const userAdd: Command = {
  name: 'user add',
  usage: '<name>',
  summary: 'makes a user, such as the first admin',
  about: `Makes a user. The password (at least ${PASSWORD_LENGTH_MIN} characters) is read from --password-file, from a pipe, or typed.`,
  flags: [
    { name: 'role', value: ROLES.join('|'), isSwitch: false, repeatable: false, about: 'What the user may do. Default: reader.' },
    {
      name: 'email',
      value: 'address',
      isSwitch: false,
      repeatable: false,
      about: 'E-mail address, also a name to sign in with. Default: <name>@carrel.localhost.',
    },
    PASSWORD_FILE,
  ],
  wordsMin: 1,
  wordsMax: 1,
  async run(input) {
    const username = input.words[0]!
    const role = readRole(input.flag('role'))
    const email = input.flag('email') ?? `${username.replace(/[^A-Za-z0-9._-]+/g, '-')}@carrel.localhost`
    const password = await askPassword({ file: input.flag('password-file'), cwd: input.cwd, stop: input.stop })
    const user = await withAccounts(input, 'make', (accounts) => accounts.createUser({ username, email, password, role }, null))
    input.out.line(`Made ${user.role} ${user.username}.`)
    return 0
  },
}

export const userResetPassword: Command = {
  name: 'user reset-password',
  usage: '<name>',
  summary: 'gives a user a new password',
  about: 'Gives a user, known by name or e-mail address, a new password, and lets a disabled one in again. Their sessions end.',
  flags: [
    PASSWORD_FILE,
    { name: 'revoke-api-keys', isSwitch: true, repeatable: false, about: 'Switches all API keys of the user off as well.' },
  ],
  wordsMin: 1,
  wordsMax: 1,
  async run(input) {
    const login = input.words[0]!
    const password = await askPassword({ file: input.flag('password-file'), cwd: input.cwd, stop: input.stop })
    await withAccounts(input, 'change', async (accounts) => {
      const user = await accounts.findUser(login)
      if (!user) {
        const { users } = await accounts.listUsers({ filter: {}, offset: 0, limit: 500 })
        const names = users.map((each) => each.username)
        throw new CommandProblem(
          `There is no user "${login}".${didYouMean(login, names)}${names.length === 0 ? ` There are no users at all: ${typed('user add NAME')}` : ''}`,
        )
      }
      const revokeApiKeys = input.flag('revoke-api-keys') === 'true'
      const { apiKeysValid } = await accounts.editUser(user.id, { password, isActive: true, revokeApiKeys }, null)
      const keys =
        apiKeysValid === 0 ? '' : ` ${apiKeysValid} API ${apiKeysValid === 1 ? 'key' : 'keys'} still work: --revoke-api-keys ends them.`
      input.out.line(`${user.username} has a new password.${keys}`)
    })
    return 0
  },
}
