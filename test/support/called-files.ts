import { type InspectorNotification, type NodeWorker, type Profiler, Session } from 'node:inspector'

/** A call of the DevTools protocol in one thread. */
type Post = (method: string, params?: object) => Promise<unknown>

const START = { callCount: true, detailed: false }
/** Code of the product; everything else is a test, or of others. */
const PRODUCT = /\/((?:api|core|plugins|plugin-sdk|workers)\/.+)$/

/** Records in which files of the product functions are called, in this thread and in the threads that it starts. Loading a file is not a call. */
export class CalledFiles {
  readonly #root: string
  readonly #session = new Session()
  readonly #threads = new Map<string, Post>()

  private constructor(root: string) {
    this.#root = root
  }

  /** @param root of the repository, as a URL */
  static async open(root: URL): Promise<CalledFiles> {
    const files = new CalledFiles(root.href)
    const session = files.#session
    session.connect()
    const own: Post = (method, params = {}) =>
      new Promise((resolve, reject) => session.post(method, params, (error, result) => (error ? reject(error) : resolve(result))))
    files.#threads.set('', own)
    await record(own)
    session.on('NodeWorker.attachedToWorker', ({ params }: InspectorNotification<NodeWorker.AttachedToWorkerEventDataType>) => {
      const post = files.#postTo(params.sessionId, own)
      // Its code runs when it is recorded.
      const begun = record(post).then(async () => {
        files.#threads.set(params.sessionId, post)
        await post('Runtime.runIfWaitingForDebugger')
      })
      // It, or this, may have ended.
      begun.catch(() => {})
    })
    session.on('NodeWorker.detachedFromWorker', ({ params }: InspectorNotification<NodeWorker.DetachedFromWorkerEventDataType>) =>
      files.#threads.delete(params.sessionId),
    )
    await own('NodeWorker.enable', { waitForDebuggerOnStart: true })
    return files
  }

  #postTo(sessionId: string, own: Post): Post {
    const answers = new Map<number, (result?: unknown) => void>()
    let last = 0
    this.#session.on('NodeWorker.detachedFromWorker', ({ params }: InspectorNotification<NodeWorker.DetachedFromWorkerEventDataType>) => {
      if (params.sessionId === sessionId) for (const answer of answers.values()) answer()
    })
    this.#session.on(
      'NodeWorker.receivedMessageFromWorker',
      ({ params }: InspectorNotification<NodeWorker.ReceivedMessageFromWorkerEventDataType>) => {
        if (params.sessionId !== sessionId) return
        const { id, result } = JSON.parse(params.message) as { id?: number; result?: unknown }
        answers.get(id ?? 0)?.(result)
      },
    )
    return async (method, params = {}) => {
      const id = ++last
      const answered = new Promise((resolve) => answers.set(id, resolve))
      await own('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method, params }) })
      return await answered
    }
  }

  /** The files with calls since the last time, as sorted paths in the repository. */
  async take(): Promise<string[]> {
    const taken = await Promise.all([...this.#threads.values()].map((post) => post('Profiler.takePreciseCoverage')))
    // A thread that has ended answers nothing.
    const scripts = (taken as (Profiler.TakePreciseCoverageReturnType | undefined)[]).flatMap((one) => one?.result ?? [])
    return [...new Set(scripts.filter(isCalled).flatMap(({ url }) => this.#pathOf(url)))].sort()
  }

  #pathOf(url: string): string[] {
    const [, path] = (url.startsWith(this.#root) && PRODUCT.exec(url)) || []
    return path === undefined ? [] : [path]
  }

  close(): void {
    this.#session.disconnect()
  }
}

async function record(post: Post): Promise<void> {
  await post('Profiler.enable')
  await post('Profiler.startPreciseCoverage', START)
}

/** The function that begins with the file is its load. */
const isCalled = ({ functions }: Profiler.ScriptCoverage): boolean =>
  functions.some(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0)
