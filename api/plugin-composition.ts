import type { Knex } from 'knex'
import type { Services } from '#api/services.ts'
import type { DrawCover } from '#core/cover/cover.ts'
import { credentialKeys } from '#core/database/data-folder.ts'
import type { Log } from '#core/log.ts'
import type { Settings } from '#core/setting/settings.ts'
import type { TaskQueue } from '#core/task/task.ts'
import { openEgress } from '#plugins/egress.ts'
import { openMatchTasks } from '#plugins/match/match-tasks.ts'
import { openMatching } from '#plugins/match/matching.ts'
import { openPluginHost } from '#plugins/plugin-host.ts'
import { openSupervisor } from '#plugins/supervisor.ts'
import { openTemplates } from '#plugins/template/templates.ts'

/** What plugins are made from. */
export interface PluginGround {
  settings: Settings
  log: Log
  database: Knex
  tasks: TaskQueue
  drawCover: DrawCover
  /** The way out of the house; another in tests. */
  egress?: ReturnType<typeof openEgress>
}

/** Everything that runs or serves plugins, put together. */
export interface PluginComposition {
  services: Pick<Services, 'plugins' | 'templates' | 'matching' | 'matchTasks'>
  close(): void
}

/** Opens the plugins' part of the house. No process is started before something is called or rendered. */
export async function openPlugins(ground: PluginGround): Promise<PluginComposition> {
  const { settings, log, database, tasks, drawCover, egress = openEgress() } = ground
  const { enabled, isolation, hardened } = settings.plugins
  const supervisor = openSupervisor({ log, isolation, hardened })
  const templates = openTemplates(supervisor)
  const plugins = openPluginHost({ database, supervisor, egress, log, secrets: await credentialKeys(settings), enabled })
  const matching = openMatching({ database, plugins, templates, downloads: egress, drawCover, settings, log })
  const matchTasks = openMatchTasks({ database, tasks, matching })
  return {
    services: { plugins, templates, matching, matchTasks },
    close() {
      plugins.close()
      supervisor.close()
    },
  }
}
