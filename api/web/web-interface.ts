import { type StartFacts, startPage } from '#api/docs/start-page.ts'
import { etagOf } from '#api/http/conditional.ts'
import type { Exchange } from '#api/http/exchange.ts'
import type { EventsReply, StreamReply } from '#api/http/reply.ts'
import { takesCoding } from '#api/http/response.ts'
import { exists, findBuildFolder, type RunningBuild, startBuild, type WebPlaces } from '#api/web/build.ts'
import { type BuiltFile, type BuiltInterface, readBuiltInterface } from '#api/web/built-files.ts'
import type { Log } from '#core/foundation/log.ts'

/** First parts of paths that programs use: they get no page, whatever they accept. */
const PROGRAM_PATHS = /^\/(api|opds|koreader|health|metrics)(\/|$)/
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** What the interface sends. */
export type PageReply = Exclude<StreamReply, EventsReply>
type Asked = Pick<Exchange<never>, 'request' | 'path'>
type State =
  | { is: 'waiting'; step: string }
  | { is: 'ready'; built: BuiltInterface }
  /** `why` is null when building is turned off, and nothing was built before. */
  | { is: 'missing'; why: string | null }

interface WebInterfaceOptions {
  places: WebPlaces
  /** Whether to build what is missing. */
  mayBuild: boolean
  /** What the page without the interface tells. */
  readStart: () => Promise<StartFacts>
  log: Log
}

/** The pages for browsers. `start` finds or builds their files; until then, the pages say so. */
export class WebInterface {
  readonly #options: WebInterfaceOptions
  #state: State = { is: 'waiting', step: 'looking' }
  #build: RunningBuild | null = null
  #isClosed = false

  constructor(options: WebInterfaceOptions) {
    this.#options = options
  }

  /** Resolves when the pages are there, or cannot be. Never throws. */
  async start(): Promise<void> {
    const { log } = this.#options
    const began = Date.now()
    try {
      this.#state = await this.#find()
    } catch (error) {
      this.#state = { is: 'missing', why: (error as Error).message }
    }
    if (this.#isClosed) return
    if (this.#state.is === 'ready') log.info({ milliseconds: Date.now() - began }, 'The web interface is ready')
    else if (this.#state.is === 'missing' && this.#state.why !== null)
      log.warn({ reason: this.#state.why }, 'The web interface could not be built; all other interfaces work. The next start tries again')
  }

  /** Ends a build that runs. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#build?.stop()
    await this.#build?.ended
  }

  async #find(): Promise<State> {
    const { places, mayBuild, log } = this.#options
    if (await exists(places.prebuilt)) return { is: 'ready', built: await readBuiltInterface(places.prebuilt) }
    const folder = await findBuildFolder(places)
    if (!(await exists(folder))) {
      if (!mayBuild) return { is: 'missing', why: null }
      log.info({}, 'The web interface is built in the background; this happens once for each version')
      this.#build = startBuild(places, folder, (step) => {
        this.#state = { is: 'waiting', step }
      })
      if (this.#isClosed) this.#build.stop()
      const why = await this.#build.ended
      this.#build = null
      if (why !== null) return { is: 'missing', why }
    }
    return { is: 'ready', built: await readBuiltInterface(folder) }
  }

  /** What a request for a file or page of the interface gets; null for any other request. */
  find(asked: Asked): (() => Promise<PageReply>) | null {
    const { request, path } = asked
    if (request.method !== 'GET' && request.method !== 'HEAD') return null
    if (this.#state.is !== 'ready') return path === '/' && takesHtml(asked) ? () => this.#withoutFiles(200) : null
    const { built } = this.#state
    const file = built.files.get(path)
    if (file) return async () => replyOf(file, request.headers['accept-encoding'])
    if (!takesHtml(asked) || !built.isAddress(path)) return null
    return async () => pageOf(built, request.url ?? '', 200)
  }

  /** What a browser gets at an address that nobody knows; null for programs. */
  findUnknown(asked: Asked): (() => Promise<PageReply>) | null {
    const { request, path } = asked
    if ((request.method !== 'GET' && request.method !== 'HEAD') || !takesHtml(asked) || PROGRAM_PATHS.test(path)) return null
    const state = this.#state
    if (state.is === 'ready') return async () => pageOf(state.built, request.url ?? '', 404)
    // An address of the interface as well, perhaps; the page is there in a moment.
    return state.is === 'waiting' ? () => this.#withoutFiles(503) : null
  }

  async #withoutFiles(status: 200 | 503): Promise<PageReply> {
    const facts = await this.#options.readStart()
    const state = this.#state
    return startPage({
      ...facts,
      status,
      waitsFor: state.is === 'waiting' ? state.step : null,
      failed: state.is === 'missing' ? state.why : null,
    })
  }
}

const takesHtml = ({ request }: Asked): boolean => /\btext\/html\b/i.test(String(request.headers['accept'] ?? ''))

function replyOf(file: BuiltFile, accepted: string | string[] | undefined): PageReply {
  const form = (['brotli', 'gzip'] as const).find((name) => file[name] && takesCoding(accepted, name === 'brotli' ? 'br' : 'gzip'))
  return {
    kind: 'bytes',
    bytes: (form && file[form]) ?? file.bytes,
    mediaType: file.mediaType,
    etag: form ? `${file.etag}-${form}` : file.etag,
    cacheControl: file.isImmutable ? IMMUTABLE : 'no-cache',
    headers: {
      ...(form && { 'Content-Encoding': form === 'brotli' ? 'br' : 'gzip' }),
      ...(file.brotli && { Vary: 'Accept-Encoding' }),
    },
  }
}

/** The document. Its addresses are relative to the address of the server, which is as many folders above as the request has: so it works below any path of a proxy. */
function pageOf({ index, policy }: BuiltInterface, url: string, status: 200 | 404): PageReply {
  const depth = Math.max(0, (url.split(/[?#]/)[0] as string).split('/').length - 2)
  const bytes = Buffer.from(index.replace('<head>', `<head>\n<base href="${'../'.repeat(depth) || './'}">`))
  return {
    kind: 'bytes',
    bytes,
    compress: true,
    status,
    mediaType: 'text/html; charset=utf-8',
    ...(status === 200 && { etag: etagOf(bytes) }),
    cacheControl: status === 200 ? 'no-cache' : 'no-store',
    headers: { 'Content-Security-Policy': policy, Vary: 'Accept, Accept-Encoding' },
  }
}
