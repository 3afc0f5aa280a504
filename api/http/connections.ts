import { readFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressGroup } from '#core/account/address.ts'
import type { Log } from '#core/foundation/log.ts'
import { Register } from '#core/foundation/register.ts'

/** A client sends its request as soon as it connects. Browsers that open connections in advance open new ones when these are closed. */
const FIRST_BYTE_MS = 10_000
/** Before this, a new connection does not count as silent: otherwise a burst would close each one for the next before its request is read. */
const COMING_MS = 1_000
/** File descriptors that the rest of the process uses at most: PostgreSQL, threads, files that are read and sent. */
const OTHER_DESCRIPTORS = 512
/** Each connection costs some 20 KB; one process cannot serve more than this anyway. */
const CONNECTIONS_MAX = 10_000
/** A connection that moves less than STALLED_BYTES in this time counts as stalled: the slowest real connection has some kilobytes a second. */
const STALLED_MS = 30_000
const STALLED_BYTES = 30_000
/** The usual limit of a shell, for systems that report none. */
const DESCRIPTORS_USUAL = 1_024

interface Connection {
  group: string
  answers: Set<ServerResponse>
  /** When its last response ended, or when it was opened. */
  quietSince: number
  timer: NodeJS.Timeout
  /** Bytes transferred at the last check; a connection counts as slow only after two checks. */
  moved: number
  isStalled: boolean
}

interface ConnectionsOptions {
  /** Limit of connections per address, or per /64 of IPv6; trusted proxies stand for many clients and have no limit. */
  perAddress: number
  isProxy: (address: string) => boolean
  log: Log
  connectionsMax?: number
  firstByteMs?: number
  stalledMs?: number
}

/**
 * Watches the connections of a server, so that an active client always gets one. When there is no room for a new one, it closes the oldest that has sent no
 * request, then the one that has been idle longest between two requests. When all have a response in progress, it closes one that waits for its own client:
 * one of the address with the most connections, if that has more than the new one's, or one that is stalled. Otherwise the new one is refused.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #max: number
  // In the order in which they were opened.
  readonly #all = new Map<Socket, Connection>()
  readonly #ofGroup = new Register<Set<Socket>>()

  constructor(http: Server, options: ConnectionsOptions) {
    this.#options = options
    this.#max = options.connectionsMax ?? roomForConnections()
    // Only a last resort: Node closes connections beyond this number.
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

  /** @param share connections of the address of the new one */
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

  /** Closes an idle connection; false if there is none. @param patienceMs how long one that has sent nothing yet is left alone */
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
    // Now and not on its close event: a burst of new connections would choose the same one again and again.
    this.#forget(socket)
    socket.destroy()
    return true
  }

  /** Closes a connection that waits for its own client. @param share connections of the address of the new one */
  #giveUpSlow(share: number): boolean {
    let largest: Set<Socket> | null = null
    for (const [group, sockets] of this.#ofGroup) if (group !== '' && sockets.size > (largest?.size ?? share + 1)) largest = sockets
    const stalled = (socket: Socket) => this.#all.get(socket)?.isStalled === true && this.#waitsForClient(socket)
    const slow = [...(largest ?? [])].find((socket) => this.#waitsForClient(socket)) ?? [...this.#all.keys()].find(stalled)
    if (slow === undefined) return false
    this.#options.log.debug(
      { address: slow.remoteAddress, connections: this.#all.size },
      'Closed a slow connection to make room for another',
    )
    return this.#hangUp(slow)
  }

  /** Whether the responses in progress continue only when the client sends or receives something. */
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
      'Refused a connection: all connections are in use',
    )
    socket.destroy()
  }

  /** Records that a response is in progress; its connection is not closed before it ends. */
  note(socket: Socket, answer: ServerResponse): void {
    const connection = this.#all.get(socket)
    if (!connection) return
    connection.answers.add(answer)
    answer.once('close', () => {
      connection.answers.delete(answer)
      connection.quietSince = performance.now()
    })
  }

  /** The responses of this connection that are in progress; pipelining allows several. */
  answersOf(socket: Socket): ReadonlySet<ServerResponse> {
    return this.#all.get(socket)?.answers ?? new Set()
  }

  /** The responses of all connections that are in progress. */
  *answers(): Iterable<ServerResponse> {
    for (const { answers } of this.#all.values()) yield* answers
  }

  /** Closes connections that have never sent a request. */
  endSilent(): void {
    for (const socket of this.#all.keys()) if (socket.bytesRead === 0) socket.destroy()
  }
}

/** How many connections this process can have besides its other file descriptors. */
function roomForConnections(): number {
  const descriptors = readDescriptorLimit()
  return Math.min(CONNECTIONS_MAX, Math.max(Math.floor(descriptors / 4), descriptors - OTHER_DESCRIPTORS))
}

function readDescriptorLimit(): number {
  try {
    // "Max open files   1024   524288   files": the first number is the limit in force.
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? DESCRIPTORS_USUAL)
  } catch {
    return DESCRIPTORS_USUAL
  }
}
