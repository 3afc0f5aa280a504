import { readFileSync } from 'node:fs'
import os from 'node:os'

/** A clock that starts when the machine boots and that nobody can set: the difference of two readings within one boot is the elapsed time. */
export interface BootClock {
  /** Identifies the boot; null if the system has no such id. */
  bootId: string | null
  bootSeconds: number
}

export function readBootClock(): BootClock {
  let bootId: string | null = null
  try {
    bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Callers then use the wall clock.
  }
  return { bootId, bootSeconds: os.uptime() }
}
