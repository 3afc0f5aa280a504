import type { Knex } from 'knex'
import type { Services } from '#api/http/services.ts'
import { NAME, VERSION } from '#api/http/version.ts'
import type { Rules } from '#core/conditions/rules.ts'
import { credentialKeys } from '#core/database/data-folder.ts'
import type { Log } from '#core/foundation/log.ts'
import { openLibraryJobs } from '#core/matching/library-jobs.ts'
import { openMatchTasks } from '#core/matching/match-tasks.ts'
import { openMatching } from '#core/matching/matching.ts'
import type { DrawCover } from '#core/metadata/cover.ts'
import { openRecommendations } from '#core/recommendations/recommendations.ts'
import type { Settings } from '#core/settings/settings.ts'
import type { TaskQueue } from '#core/tasks/task.ts'
import { openPluginHost, type PluginHost } from '#plugins/host/plugin-host.ts'
import { openProviderClient } from '#plugins/host/provider-client.ts'
import { openUserPlugins } from '#plugins/host/user-plugins.ts'
import { openCoverDownload } from '#plugins/network/cover-download.ts'
import { openEgress } from '#plugins/network/egress.ts'
import { openDownload } from '#plugins/repositories/download.ts'
import { openRepositories } from '#plugins/repositories/repositories.ts'
import type { Supervisor } from '#plugins/runtime/supervisor.ts'
import { openTemplates } from '#plugins/templates/templates.ts'

/** What plugins are made from. */
interface PluginGround {
  settings: Settings
  log: Log
  database: Knex
  tasks: TaskQueue
  drawCover: DrawCover
  /** Where code of strangers runs; the caller closes it. */
  supervisor: Supervisor
  rules: Rules
  /** Every request of plugins to the network; another in tests. */
  egress?: ReturnType<typeof openEgress>
}

/** Everything that runs or serves plugins, put together. */
interface PluginComposition {
  services: Pick<
    Services,
    'plugins' | 'templates' | 'matching' | 'matchTasks' | 'libraryJobs' | 'repositories' | 'userPlugins' | 'recommendations'
  >
  /** Begins what happens by itself. */
  start(): void
  close(): Promise<void>
}

/** Opens everything that runs plugins. No process is started before something is called or rendered. */
export async function openPlugins(ground: PluginGround): Promise<PluginComposition> {
  const { settings, log, database, tasks, drawCover, supervisor, rules } = ground
  const { egress = openEgress(undefined, new Set(settings.plugins.allowLocal)) } = ground
  const { enabled } = settings.plugins
  const templates = openTemplates(supervisor)
  const plugins = openPluginHost({ database, supervisor, egress, log, secrets: await credentialKeys(settings), enabled })
  const providers = openProviderClient({ database, plugins })
  const matching = openMatching({
    ...{ database, providers, rules, drawCover, settings, log },
    render: templates.renderMany,
    downloadCover: openCoverDownload(egress),
  })
  const matchTasks = openMatchTasks({ database, tasks, matching })
  const libraryJobs = openLibraryJobs({ database, tasks, providers, matching, matchTasks, log })
  const userPlugins = openUserPlugins({ database, plugins, egress, tasks })
  const recommendations = openRecommendations({ database, providers, tasks, log })
  const repositories = openRepositories({
    ...{ database, log, serverVersion: VERSION, install: (bytes, options) => plugins.install(bytes, options), local: egress.local },
    download: openDownload(egress, { userAgent: `${NAME}/${VERSION}` }),
    onRevoked: () => plugins.applyRevocations(),
  })
  let renewing: Promise<void> = Promise.resolve()

  return {
    services: { plugins, templates, matching, matchTasks, libraryJobs, repositories, userPlugins, recommendations },
    start() {
      // In safe mode too: it runs no plugin.
      renewing = renewCredentials(plugins, log)
      if (!enabled) return
      repositories.start()
      libraryJobs.start()
    },
    async close() {
      libraryJobs.close()
      await renewing
      await repositories.close()
      await recommendations.close()
      plugins.close()
      templates.close()
    },
  }
}

/** Encrypts anew what an older key was used for, so that nothing needs that key any more. */
async function renewCredentials(plugins: PluginHost, log: Log): Promise<void> {
  try {
    const { resealed, lost } = await plugins.credentials.rotate()
    if (resealed > 0)
      log.info(
        { resealed },
        'Credentials that plugins use were encrypted anew with the first key of CARREL_SECRET_KEY; the older ones are not needed for them any more',
      )
    if (lost > 0)
      log.warn(
        { lost },
        'Credentials that plugins use were encrypted with a key that is not here: give that key too, behind the others, or enter them again',
      )
  } catch (error) {
    log.error({ err: error }, 'Credentials that plugins use could not be encrypted anew; older keys are still needed')
  }
}
