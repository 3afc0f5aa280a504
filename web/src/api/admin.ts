import { queryOptions } from '@tanstack/react-query'
import { askAllPages } from '#api/all-pages.ts'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { LayoutEdit, LibraryEdit, UserRecord } from '#api/records.ts'
import type { components } from '#api/schema.d.ts'

type Schemas = components['schemas']
export type NewUserRecord = Schemas['NewUser']
export type UserEdit = Schemas['UserEdit']
export type AccessRecord = Schemas['Access']
export type AccessEdit = Schemas['AccessEdit']

export async function editLibrary(libraryId: string, edit: LibraryEdit): Promise<void> {
  await ask<unknown>(api.PATCH('/api/v1/libraries/{libraryId}', { params: { path: { libraryId } }, body: edit }))
  await refresh(['libraries'])
}

/** What another layout would move. @param edit null for the one that the library has */
export const layoutChangeQuery = (libraryId: string, edit: LayoutEdit | null) =>
  queryOptions({
    queryKey: ['layout-change', libraryId, edit],
    queryFn: async ({ signal }) => {
      const params = { path: { libraryId }, query: { dryRun: true } }
      const { layoutChange } = await ask(api.PATCH('/api/v1/libraries/{libraryId}', { params, body: edit as LayoutEdit, signal }))
      return layoutChange as NonNullable<typeof layoutChange>
    },
    enabled: edit !== null,
    // It looks at every book of the library.
    staleTime: 60_000,
  })

export async function removeLibrary(libraryId: string): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/libraries/{libraryId}', { params: { path: { libraryId } } }))
  await refresh(['libraries', 'books', 'series-list', 'want-to-read', 'collections', 'read-lists'])
}

interface ScanOptions {
  mode?: 'normal' | 'deep'
  /** The missing books of these folders are gone for good; `true` for all. */
  confirm?: string[]
  /** Only this folder and what is below it, relative to the library. */
  path?: string
}

export async function scanLibrary(libraryId: string, options: ScanOptions = {}): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/libraries/{libraryId}/scan', { params: { path: { libraryId }, query: options } }))
  await refresh(['scans'])
}

/** Compares all files with their hashes, in the background. Needs `libraries-write`. */
export async function verifyLibrary(libraryId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/libraries/{libraryId}/verify', { params: { path: { libraryId } } }))
}

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async ({ signal }): Promise<UserRecord[]> =>
    (await askAllPages((query) => ask(api.GET('/api/v1/users', { params: { query }, signal })))).data,
})

export async function createUser(user: NewUserRecord): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/users', { body: user }))
  await refresh(['users'])
}

export async function editUser(userId: string, edit: UserEdit): Promise<void> {
  await ask<unknown>(api.PATCH('/api/v1/users/{userId}', { params: { path: { userId } }, body: edit }))
  await refresh(['users'])
}

export async function removeUser(userId: string): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/users/{userId}', { params: { path: { userId } } }))
  await refresh(['users'])
}

export const accessQuery = (userId: string) =>
  queryOptions({
    queryKey: ['access', userId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/users/{userId}/access', { params: { path: { userId } }, signal })),
    // Somebody else may change it, and what is shown is sent back as a whole: a form never begins with an older answer.
    staleTime: 0,
    gcTime: 0,
  })

export async function setAccess(userId: string, access: AccessEdit): Promise<void> {
  await ask<unknown>(api.PUT('/api/v1/users/{userId}/access', { params: { path: { userId } }, body: access }))
  await refresh(['access', 'users'])
}
