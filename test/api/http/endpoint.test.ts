import t from 'tap'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { type Call, endpointOf, type Route, streamOf } from '#api/http/endpoint.ts'
import type { Caller } from '#core/account/caller.ts'

const endpoint = endpointOf<AccountServices>()
const stream = streamOf<AccountServices>()
const about = { path: '/x', summary: '', tag: '' }

// The compiler is the test: each line that is marked as wrong must be, and no other may.
t.test('only public routes may have no caller', async (t) => {
  const nameOf = async (caller: Caller): Promise<undefined> => void caller.userId
  const allowed = [
    endpoint({ ...about, method: 'GET', allow: { who: 'user' }, run: ({ caller }) => nameOf(caller) }),
    endpoint({ ...about, method: 'GET', allow: { who: 'books-read', also: ['books-write'] }, run: ({ caller }) => nameOf(caller) }),
    // @ts-expect-error nobody may have signed in
    endpoint({ ...about, method: 'GET', allow: { who: 'public' }, run: ({ caller }) => nameOf(caller) }),
    endpoint({ ...about, method: 'GET', allow: { who: 'public' }, run: async ({ caller }) => (caller ? nameOf(caller) : undefined) }),
  ]
  stream({ ...about, mediaTypes: [], allow: { who: 'user' }, run: async ({ caller }) => ({ kind: 'redirect', location: caller.userId }) })
  // @ts-expect-error nobody may have signed in
  stream({ ...about, mediaTypes: [], allow: { who: 'public' }, run: async ({ caller }) => ({ kind: 'redirect', location: caller.userId }) })
  t.same(
    allowed.map(({ allow }) => allow.who),
    ['user', 'books-read', 'public', 'public'],
  )
})

t.test('a route calls the services that it names, and no other', async (t) => {
  const named = (call: Call<AccountServices>) => call.services.accounts
  // @ts-expect-error it names accounts alone
  const other = (call: Call<AccountServices>) => call.services.database
  const given: Route<AccountServices & Pick<DataServices, 'database'>> = endpoint({
    ...about,
    method: 'GET',
    allow: { who: 'user' },
    run: async (call) => void named(call),
  })
  t.equal(given.kind, 'endpoint')
  t.type(other, 'function')
})
