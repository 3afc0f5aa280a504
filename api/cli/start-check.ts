import { stat } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { CommandProblem } from '#api/cli/command.ts'
import type { Settings } from '#core/settings/settings.ts'

type Place = Pick<Settings, 'host' | 'port'>

/** Listens and stops at once. Answers why that cannot be, as the system calls it; null where it can. */
export async function tryListening({ host, port }: Place): Promise<NodeJS.ErrnoException | null> {
  return await new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

/**
 * Says before the database is made, which takes seconds and 40 MB, what would end the start after it. From the second start on a library may be away
 * with its disk, and only the database knows which folders are libraries: then the folders are checked when it is open.
 * @throws CommandProblem, CarrelError for a folder that cannot be a library
 */
export async function checkStart(
  settings: Pick<Settings, 'host' | 'port' | 'dataFolder' | 'databaseUrl'>,
  folders: readonly string[],
): Promise<void> {
  const failure = await tryListening(settings)
  if (failure !== null) throw new CommandProblem(describeListenFailure(failure, settings), { cause: failure })
  if (settings.databaseUrl !== null || folders.length === 0) return
  if (await stat(path.join(settings.dataFolder, 'postgres', 'PG_VERSION')).catch(() => null)) return
  const { checkFolder } = await import('#core/ingest/edit-library.ts')
  for (const folder of folders) await checkFolder(folder, settings)
}

export function describeListenFailure(error: NodeJS.ErrnoException, { host, port }: Place): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken by another program. Stop that one, or choose another --port (0 takes any free one).`
  if (error.code === 'EACCES') return `Port ${port} may not be used by this user. Choose a --port above 1023.`
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return `${host} is no address of this machine. Choose another --host; 0.0.0.0 means all.`
  return `Cannot listen on ${host}:${port}: ${error.message}`
}
