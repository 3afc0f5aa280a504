import type { TSchema } from 'typebox'
import { greetApp } from '#api/http/app-session.ts'
import type { Allow, Endpoint, Stream } from '#api/http/endpoint.ts'
import { endpoint, stream } from '#api/http/route.ts'
import type { Services } from '#api/http/services.ts'
import { komgaMount } from '#api/komga/mount.ts'

type Shape = TSchema | undefined

/** What routes of this interface have in common. Paths begin with `/api/v1`; they answer below `/api/v2` too, unless they say otherwise. */
type Given<Route> = Omit<Route, 'kind' | 'tag' | 'mount' | 'allow' | 'alsoAt'> & {
  who: Allow['who']
  also?: Allow['also']
  thisVersionOnly?: true
  /** Looks at the session without asking for one. */
  keepsSession?: true
}

interface Common {
  path: string
  alsoAt?: readonly string[]
  tag: string
  mount: typeof komgaMount
  allow: Allow
}

function common({ path, who, also, thisVersionOnly, keepsSession }: Given<{ path: string }>): Common {
  const isBoth = path.startsWith('/api/v1/') && !thisVersionOnly
  return {
    path: `/:prefix${path}`,
    ...(isBoth && { alsoAt: [`/:prefix${path.replace('/api/v1/', '/api/v2/')}`] }),
    tag: 'komga',
    mount: komgaMount,
    allow: who === 'public' && !keepsSession ? { who } : { who, ...(also && { also }), basic: true, session: true },
  }
}

/** A JSON route of Komga's interface. */
export function komgaEndpoint<
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
  R extends Shape = undefined,
>(given: Given<Endpoint<Services, P, Q, B, R>>): Endpoint<Services, P, Q, B, R> {
  const { who: _who, also: _also, thisVersionOnly: _only, keepsSession: _keeps, run, ...route } = given
  return endpoint<P, Q, B, R>({
    ...(route as Omit<Endpoint<Services, P, Q, B, R>, 'kind' | 'tag' | 'allow' | 'run'>),
    ...common(given),
    run: async (call, input) => {
      if (!given.keepsSession) await greetApp(call)
      return await run(call, input)
    },
  })
}

/** A route of Komga's interface that answers with bytes. */
export function komgaStream<P extends Shape = undefined, Q extends Shape = undefined>(
  given: Given<Omit<Stream<Services, P, Q>, 'method'>>,
): Stream<Services, P, Q> {
  const { who: _who, also: _also, thisVersionOnly: _only, keepsSession: _keeps, run, ...route } = given
  return stream<P, Q>({
    ...(route as Omit<Stream<Services, P, Q>, 'kind' | 'method' | 'tag' | 'allow' | 'run'>),
    ...common(given),
    run: async (call, input) => {
      await greetApp(call)
      return await run(call, input)
    },
  })
}
