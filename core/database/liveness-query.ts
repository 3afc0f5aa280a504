import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'

/** Anybody may ask, as often as they like: a second is fresh enough for a load balancer and makes a flood one query a second. */
const SHARED_MS = 1_000

interface Probe {
  /** The query under way: one that hangs must not be followed by more of them, each holding a connection or waiting for one. */
  running: Promise<boolean> | null
  answer: boolean
  goodUntil: number
}

const probes = new WeakMap<Knex, Probe>()

/** Whether the database answers a query within the deadline, or did so within the last second. Never throws. */
export async function isAlive(database: Knex, { deadlineMs }: { deadlineMs: number }): Promise<boolean> {
  const probe = probes.get(database) ?? { running: null, answer: false, goodUntil: 0 }
  probes.set(database, probe)
  if (performance.now() < probe.goodUntil) return probe.answer
  probe.running ??= ask(database).then((answer) => {
    probe.running = null
    return settle(probe, answer)
  })
  const over = new AbortController()
  const late = sleep(deadlineMs, null, { signal: over.signal, ref: false }).catch(() => null)
  try {
    return (await Promise.race([probe.running, late])) ?? settle(probe, false)
  } finally {
    over.abort()
  }
}

function settle(probe: Probe, answer: boolean): boolean {
  probe.answer = answer
  probe.goodUntil = performance.now() + SHARED_MS
  return answer
}

async function ask(database: Knex): Promise<boolean> {
  try {
    await database.raw('SELECT 1')
    return true
  } catch {
    return false
  }
}
