import { parse } from './built-ins.ts'

/** Sends a message to the runner. Only the prelude holds it, and it passes only strings of limited length. */
export type Post = (kind: string, id: number, text: string, call?: number, wanted?: string) => void

interface Limits {
  resultLength: number
  /** By the kind of a host call. */
  requestLengths: Record<string, number>
  /** Paths of the functions that a plugin may define. */
  methods: readonly string[]
  hostCalls: number
  inFlight: number
  logLines: number
  logLength: number
  /** Whether it gets the places where pending timers were set. */
  isTraced?: boolean
}

export let post: Post
export let limits: Limits

/** @param limitsText as JSON */
export function openChannel(send: Post, limitsText: string): void {
  post = send
  limits = parse(limitsText)
}
