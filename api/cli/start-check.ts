import { stat } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { CommandProblem } from '#api/cli/command.ts'
import type { Settings } from '#core/settings/settings.ts'

type Place = Pick<Settings, 'host' | 'port'>

/** Listens and stops at once. Returns the system error; null if listening works. */
export async function tryListening({ host, port }: Place): Promise<NodeJS.ErrnoException | null> {
  return await new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

/**
 * Checks, before the database is created (seconds and 40 MB), for problems that would end the start later. From the second start on, the disk of a
 * library may be unmounted, and only the database knows which folders are libraries; those are checked after it is open.
 * @throws CommandProblem, AppError for a folder that cannot be a library
 */
export async function checkStart(
  settings: Pick<Settings, 'host' | 'port' | 'dataFolder' | 'databaseUrl'>,
  folders: readonly string[],
): Promise<void> {
  const failure = await tryListening(settings)
  if (failure !== null) throw new CommandProblem(describeListenFailure(failure, settings), { cause: failure })
  if (settings.databaseUrl !== null || folders.length === 0) return
  if (await stat(path.join(settings.dataFolder, 'postgres', 'PG_VERSION')).catch(() => null)) return
  const { checkFolder } = await import('#core/scan/edit-library.ts')
  for (const folder of folders) await checkFolder(folder, settings)
}

export function describeListenFailure(error: NodeJS.ErrnoException, { host, port }: Place): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} on ${host} is in use by another program. Stop that program, or choose another --port (0 means any free port).`
  if (error.code === 'EACCES') return `Port ${port} is not allowed for this user. Choose a --port above 1023.`
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return `${host} is not an address of this machine. Choose another --host; 0.0.0.0 means all addresses.`
  return `Cannot listen on ${host}:${port}: ${error.message}`
}
