import { setTimeout as sleep } from 'node:timers/promises'
import { briefText } from '#core/foundation/stranger-text.ts'
import type { DescribedFlag } from '#core/settings/command-line.ts'
import { printMessage, type ToolInput, ToolProblem } from '#plugins/devkit/command.ts'
import { askServer, ServerRefusal, type SideLoad } from '#plugins/devkit/side-load.ts'
import { LOG_LEVELS, type LogLevel } from '#plugins/logs/lines.ts'
import { NodeLog } from './node-log.ts'

const LOOK_EVERY_MS = 500
/** While the server does not answer. */
const AGAIN_MS = 3_000
export const LEVEL: DescribedFlag = {
  name: 'level',
  value: LOG_LEVELS.join('|'),
  about:
    'For --server: the lowest level of what the plugin there does that is shown here. A call is info, a failed one error. Default: debug.',
}

export const NODE: DescribedFlag = {
  name: 'node',
  value: 'url',
  repeatable: true,
  about:
    'For --server: the address of another node of that server, with the same database, whose calls and lines are shown too. Each keeps its own. You can repeat the flag.',
}

/** @throws ToolProblem */
export function readNodes({ all }: Pick<ToolInput, 'all'>): string[] {
  return all(NODE.name).map((url) => {
    if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url
    throw new ToolProblem(`--node must be a URL such as http://127.0.0.1:8081, not "${briefText(url)}".`)
  })
}

/** @throws ToolProblem */
export function readLevel({ flag }: Pick<ToolInput, 'flag'>): LogLevel {
  const given = flag(LEVEL.name) ?? 'debug'
  const level = LOG_LEVELS.find((one) => one === given)
  if (level === undefined) throw new ToolProblem(`--level must be ${LOG_LEVELS.join(', ')}, not "${briefText(given)}".`)
  return level
}

interface State {
  state: string
  runningVersion: string | null
  disabledReason: string | null
  healthStatus: string
}

/** A node whose log is printed. */
interface FollowedNode {
  url: string
  log: NodeLog
  hasBegun: boolean
  /** Why it could not be asked, as last printed. */
  problem: string
}

async function beginOn(node: FollowedNode): Promise<void> {
  await node.log.begin()
  node.hasBegun = true
}

/** Prints what a plugin does on a server, and what becomes of its builds there. */
export class ServerActivity {
  readonly #server: SideLoad
  readonly #id: string
  readonly #input: Pick<ToolInput, 'out' | 'stop'>
  #last: Promise<void> = Promise.resolve()
  /** The version that was installed last. */
  #version: string | null = null
  #state = ''
  #isTroubled = false
  #problem = ''
  readonly #nodes: readonly FollowedNode[]

  /** @param nodes addresses of other nodes with the same database */
  constructor(
    server: SideLoad,
    id: string,
    { level, input, nodes }: { level: LogLevel; input: Pick<ToolInput, 'out' | 'stop'>; nodes: readonly string[] },
  ) {
    this.#server = server
    this.#id = id
    this.#input = input
    const { out } = input
    this.#nodes = [server.url, ...nodes].map((url) => {
      const name = nodes.length === 0 ? null : new URL(url).host
      const log = new NodeLog((place, member) => this.#get(place, member, url), { level, out, name })
      return { url, log, hasBegun: false, problem: '' }
    })
  }

  /** Notes what has already happened, which is not printed. @throws ToolProblem */
  async begin(): Promise<void> {
    const state = await this.#readState()
    this.#state = textOf(state)
    if (state === null) return
    await Promise.all(this.#nodes.map((node) => beginOn(node)))
  }

  /** Prints until the command ends. */
  async follow(): Promise<void> {
    const { out, stop } = this.#input
    while (!stop.aborted) {
      let waitMs = LOOK_EVERY_MS
      await this.#inTurn(async () => {
        try {
          await this.#look()
          this.#problem = ''
        } catch (error) {
          if (!(error instanceof ToolProblem)) throw error
          waitMs = AGAIN_MS
          if (stop.aborted || error.message === this.#problem) return
          this.#problem = error.message
          printMessage(out, ['yellow', '!'], `What the plugin does on the server cannot be shown at the moment: ${error.message}`)
        }
      })
      await sleep(waitMs, undefined, { signal: stop }).catch(() => {})
    }
  }

  /** Looks at nothing while a build is installed or a person is asked. @returns the work's result, after which this version should run */
  async whileInstalling<Result>(version: string, work: () => Promise<Result>): Promise<Result> {
    return await this.#inTurn(async () => {
      const result = await work()
      this.#version = version
      this.#isTroubled = false
      return result
    })
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.then(
      () => {},
      () => {},
    )
    return await turn
  }

  async #look(): Promise<void> {
    const state = await this.#readState()
    if (state !== null) for (const node of this.#nodes) await this.#showNode(node)
    this.#showState(state)
  }

  /** Another node that cannot be asked does not hide the rest. */
  async #showNode(node: FollowedNode): Promise<void> {
    if (node.url === this.#server.url) return await node.log.show()
    try {
      if (node.hasBegun) await node.log.show()
      else await beginOn(node)
      node.problem = ''
    } catch (error) {
      if (!(error instanceof ToolProblem)) throw error
      const { out, stop } = this.#input
      if (stop.aborted || error.message === node.problem) return
      node.problem = error.message
      printMessage(out, ['yellow', '!'], `What the plugin does on ${node.url} cannot be shown at the moment: ${error.message}`)
    }
  }

  #showState(state: State | null): void {
    const text = textOf(state)
    if (text === this.#state) return
    this.#state = text
    const { out } = this.#input
    const { origin } = new URL(this.#server.url)
    const trouble = troubleOf(state, this.#version)
    if (trouble !== null) printMessage(out, ['red', '✖'], `${origin} ${trouble}`)
    else if (this.#isTroubled) printMessage(out, ['green', '✔'], `${origin} runs ${state?.runningVersion} again`)
    this.#isTroubled = trouble !== null
  }

  async #readState(): Promise<State | null> {
    return await this.#get<State>('', 'state').catch((error: unknown) => {
      if (error instanceof ServerRefusal && error.status === 404) return null
      throw error
    })
  }

  async #get<Answer>(place: string, member: string, url = this.#server.url): Promise<Answer> {
    return await askServer<Answer>(
      { ...this.#server, url },
      `/api/v1/admin/plugins/${encodeURIComponent(this.#id)}${place}`,
      { method: 'GET', member },
      this.#input.stop,
    )
  }
}

const textOf = (state: State | null): string =>
  JSON.stringify(
    state === null
      ? null
      : [state.state, state.runningVersion, state.disabledReason, state.healthStatus === 'degraded', state.healthStatus === 'quarantined'],
  )

/** What is wrong with a plugin, after the name of the server; null if the version that was installed runs. */
function troubleOf(state: State | null, version: string | null): string | null {
  if (state === null) return version === null ? null : 'no longer has the plugin.'
  const { runningVersion, disabledReason } = state
  const why = disabledReason === null ? '' : ` ${disabledReason}`
  if (['quarantined', 'revoked', 'disabled'].includes(state.state))
    return `runs no build: ${runningVersion ?? 'the plugin'} is ${state.state}.${why}`
  if (version !== null && runningVersion !== null && runningVersion !== version)
    return `runs ${runningVersion} instead of ${version}.${why || ' Somebody else has installed or chosen it.'}`
  if (state.healthStatus === 'degraded') return `lets calls of ${runningVersion} pause, because they failed too often.${why}`
  return disabledReason === null ? null : `says: ${disabledReason}`
}
