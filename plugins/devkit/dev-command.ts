import { once } from 'node:events'
import { unwatchFile, watchFile } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as esbuild from 'esbuild'
import { AppError } from '#core/foundation/errors.ts'
import { escapedLines, messageLines } from '#core/foundation/stranger-text.ts'
import { type ConsentRecord, consentRecordOf } from '#plugins/consent/record.ts'
import { describeDifference, describeRecord } from '#plugins/consent/record-lines.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'
import { Supervisor } from '#plugins/runtime/supervisor.ts'
import { LEVEL, NODE, readLevel, readNodes, ServerActivity } from './activity/server-activity.ts'
import { ALLOW_LOCAL, readAllowLocal } from './allow-local.ts'
import { type Bundle, bundleOf, bundleOptions, bundleProblem, bundleProject } from './bundling/bundle.ts'
import { agrees, kilobytes, printMessage, readCount, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { CREDENTIALS, type GivenCredentials, missingCredentials, readCredentials } from './credentials-file.ts'
import { DebugRelay } from './debug-relay.ts'
import { type DevServer, openDevServer } from './dev-server.ts'
import { DevSession } from './dev-session.ts'
import { type DevTarget, readTarget, TARGET_FLAGS } from './dev-target.ts'
import { INSPECT_PORT, openInspectorServer } from './inspector.ts'
import { packProject } from './pack.ts'
import { type Project, readValidProject } from './project.ts'
import { checkAdministrator, ServerAway, setUp, sideLoad, tryVersion, type Waiting } from './side-load.ts'
import { checkTypesUnless, printTypes, TYPES } from './type-check.ts'
import { typedTool } from './typed.ts'

/** Keeps a debugged sandbox alive over any break of its author. */
const DEBUG_IDLE_MS = 24 * 60 * 60_000
/** While the server on which a build should run does not answer. */
const AGAIN_MS = 1_000
/** Interval for checking files that the bundler does not watch. */
const LOOK_EVERY_MS = 500

export const dev: ToolCommand = {
  name: 'dev',
  usage: '[--inspect [port]]',
  // The port for --inspect.
  words: [0, 1],
  summary: 'bundles on every change, and serves a page for trying calls',
  about:
    'Watches the folder, and serves a page on this machine where you call your functions and see the answer, the requests, the log and the budgets. The sandbox is that of the server; its storage lasts until you stop. With --server, every successful build is also installed on a running test server, and you consent there to what is printed before; a build that asks for more waits for your answer. What the plugin does there is shown as it happens: calls, lines of its log, and whether the server still runs the build.',
  flags: [
    { name: 'port', value: 'number', about: 'Port of the page; by default a free one.' },
    {
      name: 'inspect',
      takesValue: true,
      isSwitch: true,
      about: `Accepts a debugger, such as that of Chrome, with breakpoints in your own source. Default port: ${INSPECT_PORT}. While a debugger is connected, time limits do not apply; the memory limit does.`,
    },
    ALLOW_LOCAL,
    CREDENTIALS,
    TYPES,
    ...TARGET_FLAGS,
    LEVEL,
    NODE,
  ],
  async run(input) {
    const { folder, flag, out, log, stop } = input
    const port = readCount(flag('port'), { flag: 'port', unless: 0, min: 1, max: 65_535 })
    const inspectPort = readInspectPort(input)
    const server = await readTarget(input)
    const local = readAllowLocal(input)
    const first = await readValidProject(folder)
    const credentials = await readCredentials(input, first.manifest, server !== null)
    const activity = server === null ? null : await openActivity(input, server, first.manifest.id)
    const relay = inspectPort === null ? null : new DebugRelay()
    const supervisor = new Supervisor({ log, ...(relay && { idleMs: DEBUG_IDLE_MS }) })
    const session = new DevSession(folder, supervisor, { inspector: relay, local, credentials })
    const page = await openDevServer(folder, session, port)
    const inspector =
      relay && inspectPort !== null
        ? await openInspectorServer(relay, first.manifest.id, inspectPort).catch((error: unknown) => {
            page.close()
            supervisor.close()
            throw error
          })
        : null
    out.line(`${out.paint('bold', escapedLines(first.manifest.id))}  ${page.url}`)
    if (inspector !== null) {
      out.line(`Debugger  ${inspector.devtoolsUrl}`)
      out.line(`          Open it in Chrome, or find it at chrome://inspect. For other debuggers: ${inspector.url}`)
    }
    const bare = missingCredentials(input, first.manifest)
    if (bare !== null) printMessage(out, ['yellow', '!'], bare)
    if (local.size > 0) out.line(`Local     ${[...local].join(', ')} may be requested, if the configuration names it`)
    out.line('Press Ctrl-C to stop.')
    const builds = new Builds(input, page, { server, activity, credentials }, (project, bundle) =>
      session.use({ manifest: project.manifest, ...bundle }),
    )
    const following = activity?.follow()
    const watching = await watch(first, builds)
    if (!stop.aborted) await once(stop, 'abort')
    await watching.close()
    await following
    inspector?.close()
    page.close()
    supervisor.close()
    return 0
  },
}

/** @throws ToolProblem */
async function openActivity(input: ToolInput, server: DevTarget, id: string): Promise<ServerActivity> {
  const activity = new ServerActivity(server, id, { level: readLevel(input), input, nodes: readNodes(input) })
  await checkAdministrator(server, input.stop)
  await activity.begin()
  return activity
}

/** Where builds are installed besides this machine. */
interface Destination {
  server: DevTarget | null
  activity: ServerActivity | null
  credentials: GivenCredentials | undefined
}

/** Null without the flag. */
function readInspectPort({ flag, words }: ToolInput): number | null {
  const given = flag('inspect')
  const isOn = given !== undefined && given !== 'false'
  const value = given === undefined || given === 'true' || given === 'false' ? words[0] : given
  if (words[0] !== undefined && (!isOn || value !== words[0]))
    throw new ToolProblem(`Unexpected argument "${escapedLines(words[0])}". See ${typedTool('dev --help')}`)
  return isOn ? readCount(value, { flag: 'inspect', unless: INSPECT_PORT, max: 65_535 }) : null
}

/** Handles builds one after another. */
class Builds {
  readonly #input: ToolInput
  readonly #page: DevServer
  readonly #to: Destination
  readonly #use: (project: Project, bundle: Bundle) => void
  #last: Promise<void> = Promise.resolve()
  /** What the author has granted in this session, after it was printed. */
  #granted: ConsentRecord | null = null
  /** Ends the check of the build before. */
  #checking = new AbortController()
  #leftOut: string | null = null
  /** The number of builds that wait for their turn. */
  #waiting = 0

  constructor(input: ToolInput, page: DevServer, to: Destination, use: (project: Project, bundle: Bundle) => void) {
    this.#input = input
    this.#page = page
    this.#to = to
    this.#use = use
  }

  /** Takes the output of the bundler, with the present manifest. */
  take(bundle: () => Promise<Bundle>): Promise<void> {
    this.#waiting += 1
    this.#last = this.#last.then(() => {
      this.#waiting -= 1
      return this.#build(bundle)
    })
    return this.#last
  }

  async #build(make: () => Promise<Bundle>): Promise<void> {
    const { folder, out } = this.#input
    try {
      const project = await readValidProject(folder)
      const bundle = await make()
      packProject(project, bundle)
      this.#use(project, bundle)
      const message = `Built ${project.manifest.version}, ${kilobytes(Buffer.byteLength(bundle.code))}`
      out.line(`${out.paint('green', '✔')} ${message}`)
      for (const warning of bundle.warnings) printMessage(out, ['yellow', '  !'], warning)
      this.#page.send('built', { message: `${message}.` })
      void this.#checkTypes(project)
      const { server, activity } = this.#to
      if (server !== null && activity !== null) await this.#untilAnswered(server, () => this.#load(project, bundle, server, activity))
    } catch (error) {
      if (!(error instanceof ToolProblem || error instanceof AppError)) throw error
      printMessage(out, ['red', '✖'], error.message)
      this.#page.send('failed', { message: error.message })
    }
  }

  /** Beside the run: a build with wrong types runs, too. */
  async #checkTypes(project: Project): Promise<void> {
    this.#checking.abort()
    this.#checking = new AbortController()
    const until = AbortSignal.any([this.#checking.signal, this.#input.stop])
    const types = await checkTypesUnless(this.#input, project, until)
    if (until.aborted) return
    // Once is enough.
    if (types.leftOut === null || types.leftOut !== this.#leftOut) printTypes(this.#input, types)
    this.#leftOut = types.leftOut
    const message = types.errors.join('\n')
    if (message !== '') this.#page.send('failed', { message })
  }

  /** Again when a server answers that did not, such as one that restarts during an upload; not when there is another build by then. */
  async #untilAnswered(server: DevTarget, load: () => Promise<void>): Promise<void> {
    const { out, stop } = this.#input
    for (;;)
      try {
        return await load()
      } catch (error) {
        if (!(error instanceof ServerAway)) throw error
        if (stop.aborted) return
        printMessage(out, ['yellow', '!'], `${error.message} The build is installed when it answers again.`)
        if (!(await this.#answers(server))) return
      }
  }

  /** Waits until the server answers. @returns false when another build or the end of the command came first. @throws ToolProblem */
  async #answers(server: DevTarget): Promise<boolean> {
    const { stop } = this.#input
    for (;;)
      try {
        await sleep(AGAIN_MS, undefined, { signal: stop }).catch(() => {})
        if (this.#waiting > 0 || stop.aborted) return false
        await checkAdministrator(server, stop)
        return true
      } catch (error) {
        if (!(error instanceof ServerAway)) throw error
      }
  }

  async #load(project: Project, bundle: Bundle, to: DevTarget, activity: ServerActivity): Promise<void> {
    const { out, stop } = this.#input
    const version = tryVersion(project.manifest.version, new Date())
    const manifestBytes = Buffer.from(JSON.stringify({ ...(JSON.parse(project.manifestBytes.toString('utf8')) as object), version }))
    const bytes = packProject({ ...project, manifestBytes }, bundle, to.keys)
    const { origin } = new URL(to.url)
    const record = consentRecordOf({ ...readPackage(bytes), repository: null })
    for (const line of grantLines(record, this.#granted, origin)) out.line(line)
    // The command itself grants what the first build asks for; whatever comes later, the person grants.
    const isFirst = this.#granted === null
    const agreed = await activity.whileInstalling(version, async () => {
      const why = await sideLoad(to, bytes, stop, async (waiting) => {
        if (!isFirst) await this.#askFor(waiting, origin)
      })
      // Once: what somebody changes on the server later stays.
      if (isFirst) await setUp(to, project.manifest.id, { config: to.config, credentials: this.#to.credentials }, stop)
      return why
    })
    this.#granted = record
    const why = agreed.length > 0 ? `; consented, because it ${agreed.join(', ')}` : ''
    printMessage(out, ['green', '✔'], `${origin} runs ${version}${why}`)
  }

  /** @throws ToolProblem unless the person grants it */
  async #askFor({ id, sha256, waitsFor }: Waiting, origin: string): Promise<void> {
    const { out, readLine } = this.#input
    for (const line of messageLines(`It asks for something else than you have granted in this session: it ${waitsFor.join(', ')}.`))
      out.line(line)
    if (await agrees(readLine, `Do you grant this on ${origin}? Type yes or no: `)) return
    // One line, so that it can be copied.
    out.line(`To grant it, in the server's checkout: npm run carrel -- plugin consent ${id} --sha256 ${sha256}`)
    const why = readLine === null ? 'Nobody can be asked without a terminal, so you have not granted it' : 'You have not granted it'
    throw new ToolProblem(`${why}; the build before runs on ${origin}.`)
  }
}

/** What the author grants on a server by installing a build there: all of it, then what differs from what was granted. */
function grantLines(record: ConsentRecord, granted: ConsentRecord | null, origin: string): string[] {
  if (granted === null)
    return [
      ...messageLines(`On ${origin} you grant what follows. Lines that begin with > are words of its author. It`),
      ...describeRecord(record),
    ]
  const lines = describeDifference(granted, record)
  return lines.length === 0 ? [] : [...messageLines(`What you grant on ${origin} differs: + is new, and - is no longer so.`), ...lines]
}

/** Builds now, and again after every change of a source. */
async function watch(project: Project, builds: Builds): Promise<{ close(): Promise<void> }> {
  const { folder, entry } = project
  const looked = ['manifest.json', ...(entry.isBuilt ? [entry.file] : [])].map((name) => path.join(folder, name))
  let context: esbuild.BuildContext | null = null
  const again = () => {
    if (context === null) void builds.take(() => bundleProject(project))
    // In watch mode the bundler hands over its build by itself.
    else void context.rebuild().catch(() => {})
  }
  for (const file of looked) watchFile(file, { interval: LOOK_EVERY_MS, persistent: false }, again)
  if (entry.isBuilt) await builds.take(() => bundleProject(project))
  else {
    const options = bundleOptions(project)
    const handOver: esbuild.Plugin = {
      name: 'hand over',
      setup: (build) =>
        build.onEnd((result) =>
          builds.take(async () => {
            if (result.errors.length > 0) throw await bundleProblem(project, result.errors)
            return bundleOf(result)
          }),
        ),
    }
    context = await esbuild.context({ ...options, plugins: [...options.plugins, handOver] })
    await context.watch()
  }
  return {
    async close() {
      for (const file of looked) unwatchFile(file)
      await context?.dispose()
    },
  }
}
