import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

/** Mounts a mirror of a folder, see the program; null where this process may not mount. */
export async function mountDisk(t: Test, mirrored: string, mounted: string): Promise<ChildProcess | null> {
  if (process.getuid?.() !== 0 || !existsSync('/dev/fuse')) return null
  const program = fileURLToPath(new URL('fuse-disk.mjs', import.meta.url))
  const disk = spawn(process.execPath, [program, mirrored, mounted], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [started] = await Promise.race([once(disk.stdout as NodeJS.ReadableStream, 'data'), once(disk, 'exit')])
  if (typeof started === 'number') return null
  t.teardown(() => disk.kill('SIGKILL'))
  return disk
}
