import { useQuery } from '@tanstack/react-query'
import type { Permission } from '#api/records.ts'
import { meQuery } from '#api/session.ts'

/** Whether the user has a permission; false until it is known. */
export function useMayDo(permission: Permission): boolean {
  return useQuery(meQuery).data?.permissions.includes(permission) ?? false
}
