import { readFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressGroup } from '#core/account/address.ts'
import type { Log } from '#core/log.ts'

/** A client sends its request with the connection; browsers that open some in advance open others when these are gone. */
const FIRST_BYTE_MS = 10_000
/** What everything else has open at its worst: PostgreSQL, threads, files that are read and sent. */
const OTHER_DESCRIPTORS = 512
/** Each costs some 20 KB; more than this are not served by one process anyhow. */
const CONNECTIONS_MAX = 10_000
/** Where the system tells no limit, the usual one of a shell. */
const DESCRIPTORS_USUAL = 1_024

/** Keeps connections few enough that there is always room for one that wants something. */
export interface Connections {
  /** Notes that an answer is under way; its connection is not given up before it is over. */
  note(socket: Socket, answer: ServerResponse): void
  /** Those of this connection that are not over; with pipelining there are several. */
  answersOf(socket: Socket): ReadonlySet<ServerResponse>
  /** Hangs up those that have never asked for anything. */
  endSilent(): void
}

interface Held {
  group: string
  answers: Set<ServerResponse>
  /** Of its last answer, or of its beginning. */
  quietSince: number
  timer: NodeJS.Timeout
}

/**
 * Watches the connections of a server. Where there is no room for a new one the oldest that has said nothing is given up, then the one that has
 * been quiet for longest between two requests; only where all are being answered the new one is refused.
 * @param options.perAddress connections of one address, or of one /64 of IPv6; those of trusted proxies stand for many and count nowhere
 */
export function watchConnections(
  http: Server,
  options: { perAddress: number; isProxy: (address: string) => boolean; log: Log; connectionsMax?: number; firstByteMs?: number },
): Connections {
  const { perAddress, isProxy, log } = options
  const max = options.connectionsMax ?? roomForConnections()
  // In the order of their coming.
  const all = new Map<Socket, Held>()
  const ofGroup = new Map<string, Set<Socket>>()
  // The last resort, should giving up not keep pace: Node closes what comes beyond.
  http.maxConnections = max + Math.ceil(max / 8)

  http.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const group = isProxy(address) ? '' : addressGroup(address)
    const own = ofGroup.get(group) ?? new Set()
    if (group !== '' && own.size >= perAddress && !giveUp(own)) return refuse(socket, address)
    if (all.size >= max && !giveUp(all.keys())) return refuse(socket, address)
    const timer = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy()
    }, options.firstByteMs ?? FIRST_BYTE_MS).unref()
    all.set(socket, { group, answers: new Set(), quietSince: performance.now(), timer })
    ofGroup.set(group, own.add(socket))
    socket.once('close', () => forget(socket))
  })

  function forget(socket: Socket): void {
    const held = all.get(socket)
    if (!held) return
    clearTimeout(held.timer)
    all.delete(socket)
    const own = ofGroup.get(held.group)
    own?.delete(socket)
    if (own?.size === 0) ofGroup.delete(held.group)
  }

  /** Hangs up the one that is missed least; false when all are being answered. */
  function giveUp(sockets: Iterable<Socket>): boolean {
    let quietest: { socket: Socket; quietSince: number } | null = null
    for (const socket of sockets) {
      const { answers, quietSince } = all.get(socket) as Held
      if (socket.bytesRead === 0) {
        quietest = { socket, quietSince }
        break
      }
      if (answers.size === 0 && (quietest === null || quietSince < quietest.quietSince)) quietest = { socket, quietSince }
    }
    if (quietest === null) return false
    // Not when it is closed: a burst of new ones would give up the same one again and again.
    forget(quietest.socket)
    quietest.socket.destroy()
    return true
  }

  function refuse(socket: Socket, address: string): void {
    log.debug({ address, connections: all.size }, 'A connection was refused: all there may be are being answered')
    socket.destroy()
  }

  return {
    note(socket, answer) {
      const held = all.get(socket)
      if (!held) return
      held.answers.add(answer)
      answer.once('close', () => {
        held.answers.delete(answer)
        held.quietSince = performance.now()
      })
    },
    answersOf: (socket) => all.get(socket)?.answers ?? new Set(),
    endSilent() {
      for (const socket of all.keys()) if (socket.bytesRead === 0) socket.destroy()
    },
  }
}

/** How many connections this process can hold with everything else that it has open. */
function roomForConnections(): number {
  const descriptors = readDescriptorLimit()
  return Math.min(CONNECTIONS_MAX, Math.max(Math.floor(descriptors / 4), descriptors - OTHER_DESCRIPTORS))
}

function readDescriptorLimit(): number {
  try {
    // "Max open files   1024   524288   files": the first is the one that holds.
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? DESCRIPTORS_USUAL)
  } catch {
    return DESCRIPTORS_USUAL
  }
}
