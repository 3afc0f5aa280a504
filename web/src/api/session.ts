import { queryOptions } from '@tanstack/react-query'
import { api, ask, whenSignedOut } from '#api/client.ts'
import { queries } from '#api/queries.ts'
import type { components } from '#api/schema.d.ts'

/** The signed-in user. */
export type Me = components['schemas']['UserInfo']

/** Who is signed in. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/auth/me', { signal })),
  staleTime: 5 * 60_000,
  // It finds out whether there is a server.
  networkMode: 'always',
})

/** The id of the user whose session it is, or was when it has just ended; null when nobody is signed in. */
export const findUserId = (): string | null => queries.getQueryData<Me | null>(meQuery.queryKey)?.id ?? null

export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/setup/status', { signal })),
})

type Listener = () => void
type Message = 'signed-in' | 'signed-out'

let hasEnded = false
const listeners = new Set<Listener>()
/** Other tabs of this browser. Unlike Web Locks and workers it exists over plain HTTP. */
const tabs = new BroadcastChannel('carrel.session')

function setEnded(value: boolean): void {
  if (hasEnded === value) return
  hasEnded = value
  for (const listener of listeners) listener()
}

/** Whether the session ended while a page is shown: the page stays, with what was typed, below a dialog. For useSyncExternalStore. */
export const sessionEnd = {
  subscribe(listener: Listener): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  read: (): boolean => hasEnded,
}

whenSignedOut(() => {
  if (queries.getQueryData(meQuery.queryKey)) setEnded(true)
})

tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => (data === 'signed-out' ? leave() : void enter().catch(() => {})))

export async function signIn(username: string, password: string): Promise<void> {
  await ask(api.POST('/api/v1/auth/login', { body: { username, password, session: 'cookie' } }))
  await enter()
  tabs.postMessage('signed-in' satisfies Message)
}

interface NewUser {
  username: string
  email: string
  password: string
}

export async function register(user: NewUser): Promise<void> {
  await ask(api.POST('/api/v1/auth/register', { body: { ...user, session: 'cookie' } }))
  await enter()
  tabs.postMessage('signed-in' satisfies Message)
}

/** Creates the first administrator. */
export async function initialize(user: NewUser): Promise<void> {
  await ask(api.POST('/api/v1/setup/initialize', { body: { ...user, session: 'cookie' } }))
  await enter()
  tabs.postMessage('signed-in' satisfies Message)
}

/** Ends the session here and in all tabs. */
export async function signOut(): Promise<void> {
  await ask(api.POST('/api/v1/auth/logout')).catch((error: { status?: number }) => {
    // It had ended already.
    if (error.status !== 401) throw error
  })
  tabs.postMessage('signed-out' satisfies Message)
  leave()
}

/** Forgets who was signed in, with everything that was shown to them. */
export function leave(): void {
  setEnded(false)
  // First, so that the pages are gone before what they show.
  queries.setQueryData(meQuery.queryKey, null as never)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
}

/** Shows what the user of the session sees; of another user than before, nothing stays. */
async function enter(): Promise<void> {
  const before = queries.getQueryData<Me>(meQuery.queryKey)
  const now = await queries.fetchQuery({ ...meQuery, staleTime: 0 })
  if (before?.id === now.id) await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
  else queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'me' })
  setEnded(false)
}
