import { constants } from 'node:fs'
import { access, opendir, readFile, stat, statfs } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Command, CommandInput } from '#api/cli/command.ts'
import { count } from '#api/cli/library-report.ts'
import { NoDatabase, withDatabase } from '#api/cli/open-database.ts'
import { tryListening } from '#api/cli/start-check.ts'
import { typed } from '#api/cli/typed.ts'
import { inspectDatabase, refuseIncompatible } from '#core/database/database.ts'
import { describeDenied, findHolder, userName } from '#core/embedded/data-folder.ts'
import { findPostgresRunner, readPostgresVersion } from '#core/embedded/postgres-binaries.ts'
import { listLibrariesByName } from '#core/scan/library-progress-query.ts'
import { describeWatchProblem } from '#core/scan/watch/describe-watch.ts'
import { listWatches } from '#core/scan/watch/watch-store.ts'

const GB = 1024 ** 3
/** With less, the first scan of a medium-sized library fills the disk: database, covers, page cache. */
const DISK_PROBLEM_BYTES = 0.2 * GB
const DISK_NOTE_BYTES = 2 * GB
/** Server, PostgreSQL and an idle worker use about half of this. */
const MEMORY_NOTE_BYTES = 1 * GB
const NODE_NEEDED = 24

/** `problem` sets the exit code to 1; `note` is information; `skipped` could not be checked. */
interface Finding {
  state: 'ok' | 'note' | 'problem' | 'skipped'
  about: string
  found: string
  todo?: string
}

const ok = (about: string, found: string): Finding => ({ state: 'ok', about, found })
const note = (about: string, found: string, todo: string): Finding => ({ state: 'note', about, found, todo })
const problem = (about: string, found: string, todo: string): Finding => ({ state: 'problem', about, found, todo })
const skipped = (about: string, found: string, todo?: string): Finding => ({ state: 'skipped', about, found, ...(todo && { todo }) })
const gigabytes = (bytes: number) => `${(bytes / GB).toFixed(1)} GB`

async function checkNode(): Promise<Finding> {
  const optional = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')).optionalDependencies as Record<
    string,
    string
  >
  const pinned = optional[`node-${process.platform}-${process.arch}`]
  if (Number(process.versions.node.split('.')[0]) < NODE_NEEDED)
    return problem('Node', process.versions.node, `Start through "npm start" or "npm run carrel", or install Node ${NODE_NEEDED}.`)
  if (pinned === undefined)
    return note(
      'Node',
      `${process.versions.node}, your own`,
      `There is no bundled Node for ${process.platform}-${process.arch}; keep yours up to date.`,
    )
  if (pinned !== process.versions.node)
    return note('Node', process.versions.node, `Carrel is tested with ${pinned}; start it through npm to use that one.`)
  return ok('Node', `${process.versions.node}, as pinned`)
}

function checkMachine({ settings }: CommandInput): Finding {
  const memory = process.constrainedMemory() > 0 ? Math.min(process.constrainedMemory(), os.totalmem()) : os.totalmem()
  const found = `${os.availableParallelism()} cores, ${gigabytes(memory)} memory, ${settings.workers} worker threads`
  if (memory < MEMORY_NOTE_BYTES) return note('Machine', found, 'This is little memory; set --workers 1 and --worker-memory-mb 256.')
  const needed = settings.workers * settings.workerMemoryMbMax * 1024 ** 2
  if (needed > memory)
    return note('Machine', found, `The workers alone may take ${gigabytes(needed)}; lower --workers or --worker-memory-mb.`)
  return ok('Machine', found)
}

async function checkDataFolder({ settings }: CommandInput): Promise<Finding[]> {
  const folder = settings.dataFolder
  let existing = folder
  const about = 'Data folder'
  const look = async () => {
    try {
      return await stat(existing)
    } catch (error) {
      return error as NodeJS.ErrnoException
    }
  }
  let found = await look()
  for (; found instanceof Error && (found.code === 'ENOENT' || found.code === 'ENOTDIR'); found = await look())
    existing = path.dirname(existing)
  if (found instanceof Error) return [problem(about, `${folder} cannot be read`, describeDenied(folder, found))]
  if (!found.isDirectory()) return [problem(about, `${existing} is not a folder`, 'Choose another --data-dir.')]
  const writable = await access(existing, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!writable)
    return [
      problem(
        about,
        `${existing} cannot be written by user ${userName()}`,
        `Change its owner: chown ${userName()} '${existing}'; or choose another --data-dir.`,
      ),
    ]
  const findings: Finding[] = []
  if (existing !== folder)
    findings.push(
      note(
        about,
        `${folder} does not exist; the server creates it at its first start`,
        'If it should be there, check --data-dir, or mount its disk.',
      ),
    )
  else if (found.mode & 0o007)
    findings.push(note(about, `${folder} is accessible to all users of this machine`, `Restrict it: chmod o= '${folder}'`))
  else findings.push(ok(about, folder))
  const disk = await statfs(existing)
  const free = disk.bavail * disk.bsize
  if (free < DISK_PROBLEM_BYTES)
    findings.push(problem('Free disk', gigabytes(free), `Free space on the disk of ${existing}, or choose another --data-dir.`))
  else if (free < DISK_NOTE_BYTES) findings.push(note('Free disk', gigabytes(free), 'Lower --page-cache-mb, or free space.'))
  else findings.push(ok('Free disk', gigabytes(free)))
  return findings
}

/** Checks a folder of books: it must exist, be readable and not empty. */
export async function checkLibraryFolder(folder: string): Promise<Finding> {
  const about = 'Library folder'
  try {
    const listing = await opendir(folder)
    const first = await listing.read()
    await listing.close()
    if (first !== null) return ok(about, folder)
    return problem(
      about,
      `${folder} is empty`,
      'Check that its disk is mounted. While the folder is empty, scans change nothing in the library.',
    )
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT') return problem(about, `${folder} does not exist`, 'Check the path, or mount its disk.')
    if (code === 'ENOTDIR') return problem(about, `${folder} is a file`, 'Give the folder that contains it.')
    return problem(
      about,
      `${folder} cannot be read (${code})`,
      `Allow user ${userName()} to read it: chmod -R o+rX '${folder}', or use a group.`,
    )
  }
}

/** Empty unless the setting is on, which is only for plugin developers. */
function checkLocal({ settings }: CommandInput): Finding[] {
  const { allowLocal } = settings.plugins
  if (allowLocal.length === 0) return []
  const todo = 'This is for development only; remove --plugin-allow-local on a server that others use.'
  return [note('Plugins', `may reach ${allowLocal.join(', ')} on this machine or in its network`, todo)]
}

async function checkPrograms({ settings }: CommandInput): Promise<Finding[]> {
  if (settings.databaseUrl !== null) return []
  try {
    const version = await readPostgresVersion()
    const existing = (await stat(settings.dataFolder).catch(() => null)) ? settings.dataFolder : path.dirname(settings.dataFolder)
    const runner = await findPostgresRunner(existing, { mayCopy: false })
    const how = runner.uid !== undefined ? `, run as user ${runner.uid}` : runner.prefix.length > 0 ? ', run in a user namespace' : ''
    return [ok('PostgreSQL programs', `${version}${how}`)]
  } catch (error) {
    return [problem('PostgreSQL programs', 'cannot be run', (error as Error).message)]
  }
}

async function checkDatabase(input: CommandInput): Promise<{ findings: Finding[]; folders: string[] }> {
  const about = 'Database'
  try {
    return await withDatabase(input, 'inspect', async (opened) => {
      const seen = await inspectDatabase(opened.database)
      const findings = [ok(about, `PostgreSQL ${seen.version}, ${seen.encoding}${opened.serverRuns ? ', used by the running server' : ''}`)]
      if (seen.encoding !== 'UTF8') findings.push(problem(about, `encoding ${seen.encoding}`, 'Create the database with ENCODING UTF8.'))
      if (!seen.icu) findings.push(problem(about, 'has no ICU collations', 'Use a PostgreSQL built with ICU, as all packaged ones are.'))
      else if (!seen.naturalOrder)
        findings.push(
          problem(about, 'does not sort in natural order', 'The collation carrel_natural is missing or wrong; restore a backup.'),
        )
      if (seen.pendingMigrations.length > 0)
        findings.push(problem(about, `lacks ${seen.pendingMigrations.join(', ')}`, 'Start the server once.'))
      else findings.push(ok('Migrations', 'all applied'))
      await refuseIncompatible(opened.database)
      // This version cannot read the tables of an older Carrel.
      if (seen.pendingMigrations.length > 0)
        return { findings: [...findings, skipped('Libraries', 'not checked, because the database must be updated first')], folders: [] }
      return {
        findings: [...findings, ...(await checkWatches(opened.database))],
        folders: (await listLibrariesByName(opened.database)).map((library) => library.path),
      }
    })
  } catch (error) {
    if (error instanceof NoDatabase)
      return { findings: [skipped(about, 'there is none yet'), skipped('Libraries', 'they are in the database')], folders: [] }
    return {
      findings: [
        problem(about, 'cannot be used', (error as Error).message),
        skipped('Migrations', 'the database cannot be used'),
        skipped('Libraries', 'they are in the database'),
      ],
      folders: [],
    }
  }
}

/** The libraries that servers watch now; the other ones are not watched at all. */
async function checkWatches(database: Parameters<typeof listWatches>[0]): Promise<Finding[]> {
  return (await listWatches(database)).map((watch) => {
    const [about, todo] = [`Watch of ${watch.path}`, describeWatchProblem(watch)]
    if (todo !== null) return note(about, watch.folders === null ? 'none' : count(watch.folders, 'folder'), todo)
    return ok(about, watch.folders === null ? 'begins' : count(watch.folders, 'folder'))
  })
}

/** Whether the server could listen; a running server of ours may use the port. */
async function checkPort({ settings }: CommandInput): Promise<Finding> {
  const place = `${settings.host}:${settings.port}`
  const holder = await findHolder(settings.dataFolder)
  if (holder?.purpose === 'server') return ok('Server', `runs with pid ${holder.pid}`)
  const failure = await tryListening(settings)
  if (failure === null) return ok('Address', `${place} is free`)
  const code = failure.code ?? failure.message
  if (code === 'EADDRINUSE') return problem('Address', `${place} is in use by another program`, 'Stop that one, or choose another --port.')
  if (code === 'EACCES') return problem('Address', `${place} may not be used`, 'Ports below 1024 need privileges; choose a higher --port.')
  return problem('Address', `${place} cannot be used (${code})`, 'Check --host: it must be an address of this machine.')
}

const LABEL = { ok: 'ok     ', note: 'note   ', problem: 'PROBLEM', skipped: 'skipped' }

export const doctor: Command = {
  name: 'doctor',
  usage: '',
  summary: 'checks versions, folders, permissions and the database, and suggests solutions',
  about:
    'Checks versions, folders, permissions and the database. Suggests a solution for each problem, and lists what could not be checked. Changes nothing. Exits with 1 if there is a problem.',
  flags: [],
  async run(input) {
    const findings = [
      await checkNode(),
      checkMachine(input),
      ...(await checkDataFolder(input)),
      ...(await checkPrograms(input)),
      ...checkLocal(input),
      await checkPort(input),
    ]
    // The database is created in the data folder, so the folder must be usable.
    let folders: string[] = []
    if (!findings.some((finding) => finding.state === 'problem' && finding.about !== 'Address')) {
      const database = await checkDatabase(input)
      findings.push(...database.findings)
      folders = database.folders
    } else findings.push(skipped('Database and libraries', 'blocked by the problems above', 'Solve those first, then run this again.'))
    const all = new Set([...input.settings.libraryFolders, ...folders])
    for (const folder of all) findings.push(await checkLibraryFolder(folder))
    const isKnown = !findings.some((finding) => finding.state === 'skipped')
    if (all.size === 0 && isKnown) findings.push(note('Libraries', 'none yet', `Add one: ${typed('library add DIR')}`))
    for (const finding of findings) {
      input.out.line(`${LABEL[finding.state]}  ${finding.about}: ${finding.found}`)
      if (finding.todo) input.out.line(`         ${finding.todo}`)
    }
    const problems = findings.filter((finding) => finding.state === 'problem').length
    const unseen = findings.filter((finding) => finding.state === 'skipped').length
    const more = unseen === 0 ? '' : ` ${unseen} ${unseen === 1 ? 'check was' : 'checks were'} skipped.`
    if (problems > 0) input.out.line(`Found ${problems} ${problems === 1 ? 'problem' : 'problems'}.${more}`)
    else input.out.line(`Found no problems.${more}`)
    return problems === 0 ? 0 : 1
  },
}
