import { readFileSync } from 'node:fs'
import os from 'node:os'

/** A clock that runs since the machine booted and that nobody can set: the difference of two readings in one boot is the time that passed. */
export interface BootClock {
  /** Names the boot; null when the system does not give it. */
  bootId: string | null
  bootSeconds: number
}

export function readBootClock(): BootClock {
  let bootId: string | null = null
  try {
    bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Without it, the wall clock must do.
  }
  return { bootId, bootSeconds: os.uptime() }
}
