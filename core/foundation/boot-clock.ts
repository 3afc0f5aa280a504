import { readFileSync } from 'node:fs'
import os from 'node:os'

/** The clock that runs since the machine was started, which nobody can set: between two readings of one boot it tells a time that passed. */
export interface BootClock {
  /** Names the boot; null where the system does not tell. */
  bootId: string | null
  bootSeconds: number
}

export function readBootClock(): BootClock {
  let bootId: string | null = null
  try {
    bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Then the wall clock has to do.
  }
  return { bootId, bootSeconds: os.uptime() }
}
