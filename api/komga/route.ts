import type { TSchema } from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { startAppSession } from '#api/http/app-session.ts'
import { type Allow, type CallerOf, type Endpoint, endpointOf, type StreamRoute, streamOf, type Who } from '#api/http/endpoint.ts'
import { komgaMount } from '#api/komga/mount.ts'

type Shape = TSchema | undefined
/** The services that every route of this API needs, to give apps a session. */
type SessionServices = AccountServices & Pick<DataServices, 'database' | 'settings'>

/** The options of a route of this API. A path that begins with `/api/v1` is also available under `/api/v2`, unless `thisVersionOnly` is set. */
type Given<Route, W extends Who> = Omit<Route, 'kind' | 'tag' | 'mount' | 'allow' | 'alsoAt'> & {
  who: W
  also?: Allow['also']
  thisVersionOnly?: true
  /** The route reads the session itself, and starts none. */
  keepsSession?: true
}

interface Common<W extends Who> {
  path: string
  alsoAt?: readonly string[]
  tag: string
  mount: typeof komgaMount
  allow: Allow<W>
}

function common<W extends Who>({ path, who, also, thisVersionOnly, keepsSession }: Given<{ path: string }, W>): Common<W> {
  const isBoth = path.startsWith('/api/v1/') && !thisVersionOnly
  return {
    path: `/:prefix${path}`,
    ...(isBoth && { alsoAt: [`/:prefix${path.replace('/api/v1/', '/api/v2/')}`] }),
    tag: 'komga',
    mount: komgaMount,
    allow: who === 'public' && !keepsSession ? { who } : { who, ...(also && { also }), basic: true, session: true },
  }
}

/** Binds JSON routes of Komga's API to the services that their `run` calls. */
export function komgaEndpointOf<Services>() {
  return <
    W extends Who,
    P extends Shape = undefined,
    Q extends Shape = undefined,
    B extends Shape = undefined,
    R extends Shape = undefined,
  >(
    given: Given<Endpoint<Services, P, Q, B, R, CallerOf<W>>, W>,
  ): Endpoint<Services & SessionServices, P, Q, B, R, CallerOf<W>> => {
    const { who: _who, also: _also, thisVersionOnly: _only, keepsSession: _keeps, run, ...route } = given
    return endpointOf<Services & SessionServices>()<W, P, Q, B, R>({
      ...(route as Omit<Endpoint<Services & SessionServices, P, Q, B, R, CallerOf<W>>, 'kind' | 'tag' | 'allow' | 'run'>),
      ...common(given),
      ...(!given.keepsSession && { before: startAppSession }),
      run,
    })
  }
}

/** Binds routes of Komga's API that answer with bytes to the services that their `run` calls. */
export function komgaStreamOf<Services>() {
  return <W extends Who, P extends Shape = undefined, Q extends Shape = undefined>(
    given: Given<Omit<StreamRoute<Services, P, Q, CallerOf<W>>, 'method'>, W>,
  ): StreamRoute<Services & SessionServices, P, Q, CallerOf<W>> => {
    const { who: _who, also: _also, thisVersionOnly: _only, keepsSession: _keeps, run, ...route } = given
    return streamOf<Services & SessionServices>()<W, P, Q>({
      ...(route as Omit<StreamRoute<Services & SessionServices, P, Q, CallerOf<W>>, 'kind' | 'method' | 'tag' | 'allow' | 'run'>),
      ...common(given),
      before: startAppSession,
      run,
    })
  }
}
