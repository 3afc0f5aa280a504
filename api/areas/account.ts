import type { Accounts } from '#core/account/accounts.ts'

/** Users and their credentials. */
export interface AccountServices {
  accounts: Accounts
}
