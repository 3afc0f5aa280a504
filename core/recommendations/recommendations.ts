import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { cutText } from '#core/foundation/text.ts'
import type { PluginReader, Provider, Recommender } from '#core/matching/provider-client.ts'
import { OWN_SOURCE } from '#core/metadata/source-key.ts'
import { addDismissal, type Dismissal, listDismissed } from '#core/recommendations/dismissal-store.ts'
import { findByExternalIds, findVisibleSeries, hidesAny } from '#core/recommendations/external-series-query.ts'
import {
  claimRefresh,
  findLiveRefresh,
  findRecommendations,
  type LiveRefresh,
  refreshKeyOf,
  releaseRefresh,
  type StoredRecommendations,
} from '#core/recommendations/recommendation-store.ts'
import { openRefreshTask, openTelling, type RefreshParts } from '#core/recommendations/refresh-task.ts'
import { externalSeriesOf, type Item, KEPT_MAX, type ShownItem, shownItems, wishedCount } from '#core/recommendations/shown-items.ts'

type Reader = Pick<Caller, 'userId'>

/** What one provider recommends to a reader. */
export interface RecommendationList {
  provider: Provider
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
  refresh(reader: Reader, pluginId: string | null): Promise<{ taskId: string; provider: Provider }>
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
function errorOf({ name }: Provider, stored: StoredRecommendations, isGone: boolean): RecommendationList['lastError'] {
  const { lastError, lastErrorCode: code, lastErrorAt: at } = stored
  if (lastError === null || code === null || at === null) return null
  return { code, message: isGone ? `${name} could not make a list.` : lastError, at }
}

/** Registers the task that makes the lists: before `tasks.start()`. */
export function openRecommendations(parts: RefreshParts): Recommendations {
  const { database, providers, tasks } = parts
  openRefreshTask(parts)
  const tell = openTelling(parts)
  const closing = new AbortController()
  const telling = new Set<Promise<void>>()

  async function choose({ userId }: Reader, pluginId: string | null): Promise<Recommender> {
    const offered = (await providers.listRecommenders(userId)).filter(
      ({ provider }) => pluginId === null || provider.id === pluginId.toLowerCase(),
    )
    const first = offered.find(({ provider }) => pluginId !== null || !provider.isTestTool)
    if (first !== undefined) return first
    const what =
      pluginId === null ? 'You have enabled no plugin that recommends' : `You have not enabled a plugin ${pluginId} that recommends`
    const tool = offered[0]?.provider
    const but = tool === undefined ? '' : ` but ${tool.name}, which is for tests: name it with pluginId=${tool.id}`
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
    { provider, config }: Recommender,
    items: readonly Item[],
    count = wishedCount(config),
  ): Promise<ShownItem[]> {
    const idSource = provider.idSources.recommendations
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
  async function isKnown(reader: PluginReader, chosen: Recommender, externalId: string) {
    if ((await listDismissed(database, reader)).includes(externalId)) return true
    const stored = await findRecommendations(database, reader)
    const items = await show(reader, chosen, (stored?.items ?? []) as Item[], KEPT_MAX)
    return items.some((item) => item.externalId === externalId)
  }

  return {
    async get({ userId }, pluginId) {
      const chosen = await choose({ userId }, pluginId)
      const { provider } = chosen
      const reader = { userId, pluginId: provider.id }
      // Before the list: one that ends meanwhile has then written what is read now, and no second one is begun for an old list.
      const live = await findLiveRefresh(database, reader)
      const stored = await findRecommendations(database, reader)
      // Its reasons may name what the reader may not see any more.
      const isGone = stored !== null && (await hidesAny(database, reader, stored.basedOn))
      const due = isDue(stored, isGone)
      const [task, items] = await Promise.all([
        live ?? (due ? start(reader).then((started) => started ?? findLiveRefresh(database, reader)) : null),
        isGone ? [] : show(reader, chosen, (stored?.items ?? []) as Item[]),
      ])
      const lastError = task === null && stored !== null ? errorOf(provider, stored, isGone) : null
      return { provider, items, generatedAt: isGone ? null : (stored?.generatedAt ?? null), task, lastError }
    },

    async refresh({ userId }, pluginId) {
      const { provider } = await choose({ userId }, pluginId)
      const reader = { userId, pluginId: provider.id }
      const started = await start(reader)
      if (started !== null) return { taskId: started.taskId, provider }
      const live = await findLiveRefresh(database, reader)
      const details = live === null ? {} : { details: { taskId: live.taskId } }
      return refuse('conflict', `${provider.name} is looking for recommendations already.`, details)
    },

    async dismiss({ userId }, pluginId, dismissal) {
      const chosen = await choose({ userId }, pluginId)
      const { provider } = chosen
      const reader = { userId, pluginId: provider.id }
      if (!(await isKnown(reader, chosen, dismissal.externalId)))
        refuse(
          'not_found',
          `${provider.name} recommends nothing with the externalId ${cutText(dismissal.externalId, QUOTED_LENGTH_MAX)} to you now; GET /api/v1/user/recommendations?pluginId=${provider.id} answers what it does.`,
        )
      await addDismissal(database, reader, dismissal)
      if (closing.signal.aborted) return
      const told = tell(reader, dismissal, closing.signal).then(() => void telling.delete(told))
      telling.add(told)
    },

    async close() {
      closing.abort()
      await Promise.all(telling)
    },
  }
}
