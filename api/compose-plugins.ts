import type { Knex } from 'knex'
import { openPluginHost } from '#api/compose-plugin-host.ts'
import type { Services } from '#api/http/services.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { DrawCover } from '#core/covers/cover.ts'
import { credentialKeys } from '#core/embedded/data-folder.ts'
import type { ResizeImage } from '#core/fields/analysis.ts'
import type { Log } from '#core/foundation/log.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { openProposals } from '#core/matching/apply-proposal.ts'
import { openLibraryJobs } from '#core/matching/library-jobs.ts'
import { openMatchTasks } from '#core/matching/match-tasks.ts'
import { openMatching } from '#core/matching/matching.ts'
import { openRecommendations } from '#core/recommendations/recommendations.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import type { PluginHost } from '#plugins/host/plugin-host.ts'
import { openPluginPictures } from '#plugins/host/plugin-pictures.ts'
import { openProviderClient } from '#plugins/host/provider-client.ts'
import { openUserPlugins } from '#plugins/host/user-plugins.ts'
import { openEgress } from '#plugins/network/egress.ts'
import { downloadThrough } from '#plugins/repositories/download.ts'
import { Repositories } from '#plugins/repositories/repositories.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openTemplates } from '#plugins/templates/templates.ts'

/** What the plugin components need. */
interface PluginDependencies {
  settings: Settings
  log: Log
  database: Knex
  tasks: TaskQueue
  drawCover: DrawCover
  resizeImage: ResizeImage
  /** Runs untrusted code; the caller closes it. */
  supervisor: Supervisor
  rules: Rules
  jobs?: RegularJobs
  /** How plugins send requests to the network; tests replace it. */
  egress?: ReturnType<typeof openEgress>
}

/** All components that run or serve plugins. */
interface PluginComposition {
  services: Pick<
    Services,
    | 'plugins'
    | 'pluginPictures'
    | 'templates'
    | 'matching'
    | 'matchTasks'
    | 'libraryJobs'
    | 'repositories'
    | 'userPlugins'
    | 'recommendations'
  >
  /** Starts background work. */
  start(): void
  close(): Promise<void>
}

/** Opens all components that run plugins. Starts no process until something is called or rendered. */
export async function openPlugins(dependencies: PluginDependencies): Promise<PluginComposition> {
  const { settings, log, database, jobs = new RegularJobs(log), tasks, drawCover, resizeImage, supervisor, rules } = dependencies
  const { egress = openEgress(undefined, new Set(settings.plugins.allowLocal)) } = dependencies
  const { enabled } = settings.plugins
  const templates = openTemplates(supervisor)
  const secrets = await credentialKeys(settings)
  const plugins = openPluginHost({ database, supervisor, egress, log, secrets, enabled })
  const pluginPictures = openPluginPictures({ database, egress, plugins, resizeImage, secrets, enabled })
  const providers = openProviderClient({ database, plugins })
  const proposals = openProposals({ database, providers, downloadCover: pluginPictures.download, drawCover, settings, log })
  const matching = openMatching({ database, providers, proposals, rules, settings, render: templates.renderMany })
  const matchTasks = openMatchTasks({ database, tasks, matching })
  const libraryJobs = openLibraryJobs({ database, tasks, providers, matching, matchTasks, log, jobs })
  const userPlugins = openUserPlugins({ database, plugins, egress, tasks })
  const recommendations = openRecommendations({ database, providers, tasks, log })
  const repositories = new Repositories({
    database,
    log,
    jobs,
    serverVersion: VERSION,
    install: (bytes, options) => plugins.install(bytes, options),
    local: egress.local,
    download: downloadThrough(egress, { userAgent: `${NAME}/${VERSION}` }),
    onRevoked: () => plugins.applyRevocations(),
  })
  let renewing: Promise<void> = Promise.resolve()

  return {
    services: { plugins, pluginPictures, templates, matching, matchTasks, libraryJobs, repositories, userPlugins, recommendations },
    start() {
      // Also in safe mode: the maintenance runs no plugin.
      renewing = renewCredentials(plugins, log)
      if (!enabled) return
      repositories.start()
      libraryJobs.start()
    },
    async close() {
      await libraryJobs.close()
      await renewing
      await repositories.close()
      await recommendations.close()
      await plugins.close()
      templates.close()
    },
  }
}

/** Encrypts credentials again that use an older key, so that the key is no longer needed. */
async function renewCredentials(plugins: PluginHost, log: Log): Promise<void> {
  try {
    const { resealed, lost } = await plugins.credentials.rotate()
    if (resealed > 0)
      log.info(
        { resealed },
        'Encrypted plugin credentials again with the first key of CARREL_SECRET_KEY; they no longer need the older keys',
      )
    if (lost > 0)
      log.warn(
        { lost },
        'Plugin credentials are encrypted with an unknown key. Append that key to CARREL_SECRET_KEY, or enter the credentials again',
      )
  } catch (error) {
    log.error({ err: error }, 'Could not encrypt plugin credentials again; they still need the older keys')
  }
}
