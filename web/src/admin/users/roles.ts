import type { UserRecord } from '#api/records.ts'
import { adminTexts } from '#texts/admin.ts'

export type Role = UserRecord['role']

/** From the least rights to all. */
export const ROLES: readonly { value: Role; text: string }[] = [
  { value: 'reader', text: adminTexts.reader() },
  { value: 'maintainer', text: adminTexts.maintainer() },
  { value: 'admin', text: adminTexts.admin() },
]
