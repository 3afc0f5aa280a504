import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/errors.ts'
import { cutText } from '#core/foundation/text.ts'
import { findUserPlugin, listUserPlugins, type PluginReader, type UserPlugin } from '#core/plugin/user-plugin-store.ts'
import { addDismissal, type Dismissal, listDismissed } from '#core/recommendation/dismissal-store.ts'
import { findByExternalIds, findVisibleSeries, hidesAny } from '#core/recommendation/external-series-query.ts'
import {
  claimRefresh,
  findLiveRefresh,
  findRecommendations,
  type LiveRefresh,
  refreshKeyOf,
  releaseRefresh,
  type StoredRecommendations,
} from '#core/recommendation/recommendation-store.ts'
import { type InstalledPlugin, isTestTool } from '#plugins/host/installed-plugin.ts'
import { OWN_SOURCE } from '#plugins/manifest/manifest.ts'
import { isOffered, nameOf } from '#plugins/reader/user-plugins.ts'
import { openRefreshTask, openTelling, type RefreshParts } from '#plugins/recommendation/refresh-task.ts'
import {
  externalSeriesOf,
  type Item,
  idSourceOf,
  KEPT_MAX,
  type ShownItem,
  shownItems,
  wishedCount,
} from '#plugins/recommendation/shown-items.ts'

type Reader = Pick<Caller, 'userId'>

/** What one plugin recommends to a reader. */
export interface RecommendationList {
  plugin: InstalledPlugin
  items: ShownItem[]
  /** Null where no list was made yet. */
  generatedAt: Date | null
  /** Null where none waits or runs. */
  task: LiveRefresh | null
  /** Why the last run has failed; null where it did not, or the next one waits or runs. */
  lastError: { code: string; message: string; at: Date } | null
}

/** What plugins recommend to readers. Where no plugin is named, it is the first by name of those that the reader has enabled, test tools left out. */
export interface Recommendations {
  /** Answers what is there, at once; where that is old or missing, a task makes the next one. @throws not_found */
  get(reader: Reader, pluginId: string | null): Promise<RecommendationList>
  /** Answers the id of the task. @throws not_found; conflict while one waits or runs */
  refresh(reader: Reader, pluginId: string | null): Promise<{ taskId: string; plugin: InstalledPlugin }>
  /**
   * Never shows it to the reader again, whatever the plugin says; the plugin is told in the background. What was dismissed already may be so again.
   * @throws not_found where it is not in the reader's list
   */
  dismiss(reader: Reader, pluginId: string | null, dismissal: Dismissal): Promise<void>
  /** Ends what plugins are being told; it is told before their next list. */
  close(): Promise<void>
}

/** A list is good for a day. */
const GOOD_MS = 24 * 3600 * 1000
/** As much of an identifier that is not known is repeated. */
const QUOTED_LENGTH_MAX = 60

/** @param isGone whether the words of the plugin may name what the reader may not see any more */
function errorOf(plugin: InstalledPlugin, stored: StoredRecommendations, isGone: boolean): RecommendationList['lastError'] {
  const { lastError, lastErrorCode: code, lastErrorAt: at } = stored
  if (lastError === null || code === null || at === null) return null
  return { code, message: isGone ? `${plugin.manifest.name} could not make a list.` : lastError, at }
}

/** Registers the task that makes the lists: before `tasks.start()`. */
export function openRecommendations(parts: RefreshParts): Recommendations {
  const { database, plugins, tasks, log } = parts
  openRefreshTask(parts)
  const tell = openTelling(parts)
  const closing = new AbortController()
  const telling = new Set<Promise<void>>()

  async function choose({ userId }: Reader, pluginId: string | null): Promise<{ plugin: InstalledPlugin; own: UserPlugin }> {
    const mine = (
      pluginId === null ? await listUserPlugins(database, userId) : [await findUserPlugin(database, { userId, pluginId })]
    ).filter((own) => own?.enabled === true) as UserPlugin[]
    const all = mine.length === 0 ? [] : await plugins.list()
    const offered = mine.flatMap((own) => {
      const plugin = all.find(({ id }) => id === own.pluginId)
      return plugin !== undefined && isOffered(plugin) ? [{ plugin, own }] : []
    })
    const [first] = offered
      .filter(({ plugin }) => pluginId !== null || !isTestTool(plugin))
      .sort((a, b) => (nameOf(a.plugin) < nameOf(b.plugin) ? -1 : 1))
    if (first !== undefined) return first
    const what =
      pluginId === null ? 'You have enabled no plugin that recommends' : `You have not enabled a plugin ${pluginId} that recommends`
    const [tool] = offered
    const but = tool === undefined ? '' : ` but ${tool.plugin.manifest.name}, which is for tests: name it with pluginId=${tool.plugin.id}`
    return refuse('not_found', `${what}${but}; GET /api/v1/user/plugins names those there are.`)
  }

  /** Adds the task of the next list. Null where one waits or runs, or somebody else is about to add it. */
  async function start(reader: PluginReader): Promise<LiveRefresh | null> {
    if (!(await claimRefresh(database, reader))) return null
    try {
      const { pluginId, userId } = reader
      const { taskId } = await tasks.add({
        ...{ type: 'refresh_recommendations', userId, params: { pluginId } },
        dedupeKey: refreshKeyOf(reader),
      })
      return { taskId, taskStatus: 'pending' }
    } finally {
      await releaseRefresh(database, reader)
    }
  }

  /** Whether it is time for the next list, and nobody has asked to wait. */
  const isDue = (stored: StoredRecommendations | null, isGone: boolean) =>
    (stored?.generatedAt == null || isGone || stored.generatedAt.getTime() + GOOD_MS <= Date.now()) &&
    (stored?.nextTryAt == null || stored.nextTryAt.getTime() <= Date.now())

  async function show(
    reader: PluginReader,
    plugin: InstalledPlugin,
    own: UserPlugin,
    items: readonly Item[],
    count = wishedCount(own.config),
  ): Promise<ShownItem[]> {
    const idSource = idSourceOf(plugin)
    const isOwn = idSource === OWN_SOURCE
    const [dismissed, visible, known] = await Promise.all([
      listDismissed(database, reader),
      isOwn
        ? findVisibleSeries(
            database,
            reader,
            items.map(({ externalId }) => externalId),
          )
        : new Set<string>(),
      isOwn
        ? new Map<string, string>()
        : findByExternalIds(
            database,
            reader,
            items.flatMap((item) => externalSeriesOf(item, idSource)),
          ),
    ])
    return shownItems(items, { idSource, dismissed: new Set(dismissed), visible, known, count })
  }

  /** Whether the reader has been shown such an item: of anything else a dismissal would be a mistake that nobody notices. */
  async function isKnown(reader: PluginReader, { plugin, own }: { plugin: InstalledPlugin; own: UserPlugin }, externalId: string) {
    if ((await listDismissed(database, reader)).includes(externalId)) return true
    const stored = await findRecommendations(database, reader)
    const items = await show(reader, plugin, own, (stored?.items ?? []) as Item[], KEPT_MAX)
    return items.some((item) => item.externalId === externalId)
  }

  return {
    async get({ userId }, pluginId) {
      const { plugin, own } = await choose({ userId }, pluginId)
      const reader = { userId, pluginId: plugin.id }
      // Before the list: one that ends meanwhile has then written what is read now, and no second one is begun for an old list.
      const live = await findLiveRefresh(database, reader)
      const stored = await findRecommendations(database, reader)
      // Its reasons may name what the reader may not see any more.
      const isGone = stored !== null && (await hidesAny(database, reader, stored.basedOn))
      const due = isDue(stored, isGone)
      const [task, items] = await Promise.all([
        live ?? (due ? start(reader).then((started) => started ?? findLiveRefresh(database, reader)) : null),
        isGone ? [] : show(reader, plugin, own, (stored?.items ?? []) as Item[]),
      ])
      const lastError = task === null && stored !== null ? errorOf(plugin, stored, isGone) : null
      return { plugin, items, generatedAt: isGone ? null : (stored?.generatedAt ?? null), task, lastError }
    },

    async refresh({ userId }, pluginId) {
      const { plugin } = await choose({ userId }, pluginId)
      const reader = { userId, pluginId: plugin.id }
      const { name } = plugin.manifest
      const started = await start(reader)
      if (started !== null) return { taskId: started.taskId, plugin }
      const live = await findLiveRefresh(database, reader)
      const details = live === null ? {} : { details: { taskId: live.taskId } }
      return refuse('conflict', `${name} is looking for recommendations already.`, details)
    },

    async dismiss({ userId }, pluginId, dismissal) {
      const chosen = await choose({ userId }, pluginId)
      const { plugin } = chosen
      const reader = { userId, pluginId: plugin.id }
      if (!(await isKnown(reader, chosen, dismissal.externalId)))
        refuse(
          'not_found',
          `${plugin.manifest.name} recommends nothing with the externalId ${cutText(dismissal.externalId, QUOTED_LENGTH_MAX)} to you now; GET /api/v1/user/recommendations?pluginId=${plugin.id} answers what it does.`,
        )
      await addDismissal(database, reader, dismissal)
      if (closing.signal.aborted) return
      const told = tell(reader, dismissal, closing.signal)
        .catch((error: unknown) => log.debug({ err: error, plugin: plugin.key }, 'A plugin could not be told what was dismissed'))
        .finally(() => telling.delete(told))
      telling.add(told)
    },

    async close() {
      closing.abort()
      await Promise.all(telling)
    },
  }
}
