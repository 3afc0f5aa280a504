import { type Command, CommandProblem } from '#api/cli/command.ts'
import { withDatabase } from '#api/cli/open-database.ts'
import { chooseUser, listAllUsers, withAccounts } from '#api/cli/user.ts'
import type { Accounts } from '#core/account/accounts.ts'
import type { User } from '#core/account/user.ts'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import { CHOSEN_SETTINGS } from '#core/settings/chosen-setting.ts'

function checkKey(key: string): void {
  const keys = CHOSEN_SETTINGS.map((setting) => setting.key)
  if (!keys.includes(key))
    throw new CommandProblem(`There is no setting "${escapedText(key)}".${didYouMean(key, keys)} The settings are ${keys.join(', ')}.`)
}

const get: Command = {
  name: 'settings get',
  usage: '[key]',
  summary: 'shows runtime settings',
  about:
    'Shows the value of a runtime setting, or of all. Runtime settings are changed while the server runs; the others are flags and variables.',
  flags: [],
  async run(input) {
    const [key] = input.words
    if (key !== undefined) checkKey(key)
    return await withDatabase(input, 'look', async (opened) => {
      const { readSetting } = await import('#core/settings/chosen-setting-store.ts')
      // A single value is for programs and is printed as it is.
      if (key !== undefined) input.out.line(await readSetting(opened.database, key))
      else
        for (const setting of CHOSEN_SETTINGS)
          input.out.line(`${setting.key}  ${escapedText(await readSetting(opened.database, setting.key))}`)
      return 0
    })
  },
}

/** The author of the change in the history: the given user, or the only administrator. */
async function chooseAuthor(accounts: Accounts, login: string | undefined): Promise<User> {
  const admins = (await listAllUsers(accounts)).filter(({ role, isActive }) => role === 'admin' && isActive)
  const chosen = login === undefined ? null : await chooseUser(accounts, login)
  if (chosen !== null && !admins.some(({ id }) => id === chosen.id))
    throw new CommandProblem(`${chosen.username} is not an administrator. Only administrators may change settings.`)
  if (chosen !== null) return chosen
  if (admins.length === 1) return admins[0]!
  const names = admins.map(({ username }) => username).join(', ')
  throw new CommandProblem(
    names === ''
      ? 'There is no administrator yet. Settings are changed in the name of one.'
      : `Choose an administrator with --as: ${names}.`,
  )
}

const set: Command = {
  name: 'settings set',
  usage: '<key> <value>',
  // With --default there is no value.
  words: [1, 2],
  summary: 'changes a runtime setting',
  about: 'Changes a runtime setting; a running server applies it at once. The history of the setting names the administrator.',
  flags: [
    { name: 'as', value: 'user', about: 'Administrator for the history; required if there are several administrators.' },
    { name: 'reason', value: 'text', about: 'Reason for the history.' },
    { name: 'default', isSwitch: true, about: 'Resets the setting to its default; give no value then.' },
  ],
  async run(input) {
    const [key, value] = input.words as [string, string | undefined]
    const toDefault = input.flag('default') === 'true'
    checkKey(key)
    if ((value === undefined) !== toDefault) throw new CommandProblem('Give a value, or --default without one.')
    return await withAccounts(input, 'change', async (accounts, database) => {
      const { id: userId } = await chooseAuthor(accounts, input.flag('as'))
      const [{ Supervisor }, { openTemplates }, { changeChosen }] = await Promise.all([
        import('#plugins/runtime/supervisor.ts'),
        import('#plugins/templates/templates.ts'),
        import('#api/rest/admin/settings.ts'),
      ])
      const supervisor = new Supervisor({ log: input.log, spare: false })
      try {
        const call = { services: { database, templates: openTemplates(supervisor) }, caller: { userId }, address: 'command line' }
        const reason = input.flag('reason') ?? 'Changed by a command on the server'
        const [record] = await changeChosen(call, [{ key, value: value ?? null, path: '/value' }], reason)
        input.out.line(`${key}  ${escapedText(record?.value ?? '')}`)
      } finally {
        supervisor.close()
      }
      return 0
    })
  },
}

export const settingsCommands: readonly Command[] = [get, set]
