import type { Knex } from 'knex'
import type { PluginServices } from '#api/areas/plugins.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { openPluginHost } from '#api/compose-plugin-host.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import type { Rules } from '#core/conditions/rules.ts'
import type { DrawCover } from '#core/covers/cover.ts'
import { credentialKeys } from '#core/embedded/data-folder.ts'
import type { ResizeImage } from '#core/fields/analysis.ts'
import type { Log } from '#core/foundation/log.ts'
import { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { Proposals } from '#core/matching/apply-proposal.ts'
import { LibraryJobs } from '#core/matching/library-jobs.ts'
import { MatchTasks } from '#core/matching/match-tasks.ts'
import { Matching } from '#core/matching/matching.ts'
import { Recommendations } from '#core/recommendations/recommendations.ts'
import { localServices } from '#core/settings/local-hosts.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskQueue } from '#core/tasks/task-queue.ts'
import type { Credentials } from '#plugins/credentials/credentials.ts'
import { PluginPictures } from '#plugins/host/plugin-pictures.ts'
import { PluginProviders } from '#plugins/host/provider-client.ts'
import { UserPlugins } from '#plugins/host/user-plugins.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
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
  egress?: HttpsEgress
}

/** All components that run or serve plugins. */
interface PluginComposition {
  services: PluginServices & Pick<TemplateServices, 'templates'>
  /** Starts background work. */
  start(): void
  close(): Promise<void>
}

/** Opens all components that run plugins. Starts no process until something is called or rendered. */
export async function openPlugins(dependencies: PluginDependencies): Promise<PluginComposition> {
  const { settings, log, database, jobs = new RegularJobs(log), tasks, drawCover, resizeImage, supervisor, rules } = dependencies
  const { egress = new HttpsEgress(undefined, localServices(settings.plugins.allowLocal, settings)) } = dependencies
  const { enabled } = settings.plugins
  const templates = openTemplates(supervisor)
  const secrets = await credentialKeys(settings)
  const host = openPluginHost({ database, supervisor, egress, log, secrets, enabled })
  const pluginPictures = new PluginPictures({ ...host, database, egress, resizeImage, secrets, enabled })
  const providers = new PluginProviders({ ...host, database })
  const proposals = new Proposals({ database, providers, downloadCover: pluginPictures.download, drawCover, settings, log })
  const matching = new Matching({ database, providers, proposals, rules, settings, render: templates.renderMany })
  const matchTasks = new MatchTasks({ database, tasks, matching })
  const libraryJobs = new LibraryJobs({ database, tasks, providers, matching, matchTasks, log, jobs })
  const userPlugins = new UserPlugins({ ...host, database, egress, tasks })
  const recommendations = new Recommendations({ database, providers, tasks, log })
  const repositories = new Repositories({
    database,
    log,
    jobs,
    serverVersion: VERSION,
    install: (bytes, options) => host.pluginLifecycle.install(bytes, options),
    local: egress.local,
    download: downloadThrough(egress, { userAgent: `${NAME}/${VERSION}` }),
    onRevoked: () => host.pluginLifecycle.applyRevocations(),
  })
  let renewing: Promise<void> = Promise.resolve()

  return {
    services: { ...host, pluginPictures, templates, matching, matchTasks, libraryJobs, repositories, userPlugins, recommendations },
    start() {
      // Also in safe mode: the maintenance runs no plugin.
      renewing = renewCredentials(host.pluginCredentials, log)
      if (!enabled) return
      repositories.start()
      libraryJobs.start()
    },
    async close() {
      await libraryJobs.close()
      await renewing
      await repositories.close()
      await recommendations.close()
      await host.pluginCalls.close()
      templates.close()
    },
  }
}

/** Encrypts credentials again that use an older key, so that the key is no longer needed. */
async function renewCredentials(credentials: Credentials, log: Log): Promise<void> {
  try {
    const { resealed, lost } = await credentials.rotate()
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
