import { readFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressGroup } from '#core/account/address.ts'
import type { Log } from '#core/foundation/log.ts'

/** A client sends its request with the connection; browsers that open some in advance open others when these are gone. */
const FIRST_BYTE_MS = 10_000
/** Until it counts as silent: of many that come at once each would else be given up for the next, before its request is read. */
const COMING_MS = 1_000
/** What everything else has open at its worst: PostgreSQL, threads, files that are read and sent. */
const OTHER_DESCRIPTORS = 512
/** Each costs some 20 KB; more than this are not served by one process anyhow. */
const CONNECTIONS_MAX = 10_000
/** So long a connection may move less than STALLED_BYTES before it counts as stalled: the slowest honest line has some kilobytes a second. */
const STALLED_MS = 30_000
const STALLED_BYTES = 30_000
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

interface Connection {
  group: string
  answers: Set<ServerResponse>
  /** Of its last answer, or of its beginning. */
  quietSince: number
  timer: NodeJS.Timeout
  /** Bytes that had come or gone when that was last looked at; nothing moves less before it has been looked at twice. */
  moved: number
  isStalled: boolean
}

interface ConnectionsOptions {
  perAddress: number
  isProxy: (address: string) => boolean
  log: Log
  connectionsMax?: number
  firstByteMs?: number
  stalledMs?: number
}

/**
 * Watches the connections of a server. Where there is no room for a new one the oldest that has said nothing is given up, then the one that has
 * been quiet for longest between two requests. Where all are being answered, one that waits for its own client, which sends its request or takes
 * its answer slowly, makes room: one of the address that has the most, and more than the new one's, or one that is stalled. Else the new one is refused.
 * @param options.perAddress connections of one address, or of one /64 of IPv6; those of trusted proxies stand for many and count nowhere
 */
export function watchConnections(http: Server, options: ConnectionsOptions): Connections {
  return new WatchedConnections(http, options)
}

class WatchedConnections implements Connections {
  readonly #options: ConnectionsOptions
  readonly #max: number
  // In the order of their coming.
  readonly #all = new Map<Socket, Connection>()
  readonly #ofGroup = new Map<string, Set<Socket>>()

  constructor(http: Server, options: ConnectionsOptions) {
    this.#options = options
    this.#max = options.connectionsMax ?? roomForConnections()
    // The last resort, should giving up not keep pace: Node closes what comes beyond.
    http.maxConnections = this.#max + Math.ceil(this.#max / 8)
    http.on('connection', (socket: Socket) => {
      this.#take(socket)
    })
    const looking = setInterval(() => this.#lookForStalled(), options.stalledMs ?? STALLED_MS).unref()
    http.once('close', () => clearInterval(looking))
  }

  #take(socket: Socket): void {
    const { isProxy, perAddress, firstByteMs = FIRST_BYTE_MS } = this.#options
    const address = socket.remoteAddress ?? ''
    const group = isProxy(address) ? '' : addressGroup(address)
    const own = this.#ofGroup.get(group) ?? new Set()
    const isFull =
      (group !== '' && own.size >= perAddress && !this.#giveUpIdle(own, 0)) || (this.#all.size >= this.#max && !this.#makeRoom(own.size))
    if (isFull) {
      this.#refuse(socket)
      return
    }
    const timer = setTimeout(() => {
      if (socket.bytesRead === 0) socket.destroy()
    }, firstByteMs).unref()
    const quietSince = performance.now()
    this.#all.set(socket, { group, answers: new Set(), quietSince, timer, moved: Number.NEGATIVE_INFINITY, isStalled: false })
    this.#ofGroup.set(group, own.add(socket))
    socket.once('close', () => this.#forget(socket))
  }

  /** @param share what the address of the new one has */
  #makeRoom(share: number): boolean {
    return this.#giveUpIdle(this.#all.keys(), COMING_MS) || this.#giveUpSlow(share) || this.#giveUpIdle(this.#all.keys(), 0)
  }

  #forget(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (!connection) return
    clearTimeout(connection.timer)
    this.#all.delete(socket)
    const own = this.#ofGroup.get(connection.group)
    own?.delete(socket)
    if (own?.size === 0) this.#ofGroup.delete(connection.group)
  }

  /** Hangs up one that asks for nothing, which is missed least; false when there is none. @param patienceMs that one which has said nothing yet has */
  #giveUpIdle(sockets: Iterable<Socket>, patienceMs: number): boolean {
    const spoken = performance.now() - patienceMs
    let quietest: { socket: Socket; quietSince: number } | null = null
    for (const socket of sockets) {
      const { answers, quietSince } = this.#all.get(socket) as Connection
      if (socket.bytesRead === 0) {
        if (quietSince <= spoken) return this.#hangUp(socket)
      } else if (answers.size === 0 && (quietest === null || quietSince < quietest.quietSince)) quietest = { socket, quietSince }
    }
    return quietest !== null && this.#hangUp(quietest.socket)
  }

  #hangUp(socket: Socket): true {
    // Not when it is closed: a burst of new ones would give up the same one again and again.
    this.#forget(socket)
    socket.destroy()
    return true
  }

  /** Hangs up one that waits for its own client. @param share what the address of the new one has */
  #giveUpSlow(share: number): boolean {
    let largest: Set<Socket> | null = null
    for (const [group, sockets] of this.#ofGroup) if (group !== '' && sockets.size > (largest?.size ?? share + 1)) largest = sockets
    const stalled = (socket: Socket) => this.#all.get(socket)?.isStalled === true && this.#waitsForClient(socket)
    const slow = [...(largest ?? [])].find((socket) => this.#waitsForClient(socket)) ?? [...this.#all.keys()].find(stalled)
    if (slow === undefined) return false
    this.#options.log.debug({ address: slow.remoteAddress, connections: this.#all.size }, 'A slow connection was given up to make room')
    return this.#hangUp(slow)
  }

  /** Whether what is under way goes on only when the client sends or takes something. */
  #waitsForClient(socket: Socket): boolean {
    if (socket.bytesRead === 0 || socket.writableLength > 0) return true
    for (const { req } of this.#all.get(socket)?.answers ?? []) if (!req.complete) return true
    return false
  }

  #lookForStalled(): void {
    for (const [socket, connection] of this.#all) {
      const moved = socket.bytesRead + socket.bytesWritten - socket.writableLength
      connection.isStalled = moved - connection.moved < STALLED_BYTES
      connection.moved = moved
    }
  }

  #refuse(socket: Socket): void {
    this.#options.log.debug(
      { address: socket.remoteAddress ?? '', connections: this.#all.size },
      'A connection was refused: all there may be are being answered',
    )
    socket.destroy()
  }

  note(socket: Socket, answer: ServerResponse): void {
    const connection = this.#all.get(socket)
    if (!connection) return
    connection.answers.add(answer)
    answer.once('close', () => {
      connection.answers.delete(answer)
      connection.quietSince = performance.now()
    })
  }

  answersOf(socket: Socket): ReadonlySet<ServerResponse> {
    return this.#all.get(socket)?.answers ?? new Set()
  }

  endSilent(): void {
    for (const socket of this.#all.keys()) if (socket.bytesRead === 0) socket.destroy()
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
