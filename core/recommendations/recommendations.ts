import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { cutText } from '#core/foundation/text.ts'
import type { PluginReader, Provider, Recommender } from '#core/matching/provider-client.ts'
import { OWN_SOURCE } from '#core/metadata/source-key.ts'
import { addDismissal, type Dismissal, listDismissed } from '#core/recommendations/dismissal-store.ts'
import { findByExternalIds, findVisibleSeries, hidesAny } from '#core/recommendations/external-series-query.ts'
import { externalSeriesOf, type Item, KEPT_MAX, type ShownItem, shownItems, wishedCount } from '#core/recommendations/item-view.ts'
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
  return new StoredRecommendationLists(parts)
}

class StoredRecommendationLists implements Recommendations {
  readonly #parts: RefreshParts
  readonly #tell
  readonly #closing = new AbortController()
  readonly #telling = new Set<Promise<void>>()

  constructor(parts: RefreshParts) {
    this.#parts = parts
    openRefreshTask(parts)
    this.#tell = openTelling(parts)
  }

  async #choose({ userId }: Reader, pluginId: string | null): Promise<Recommender> {
    const offered = (await this.#parts.providers.listRecommenders(userId)).filter(
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
  async #start(reader: PluginReader): Promise<LiveRefresh | null> {
    if (!(await claimRefresh(this.#parts.database, reader))) return null
    try {
      const { pluginId, userId } = reader
      const { taskId } = await this.#parts.tasks.add({
        ...{ type: 'refresh_recommendations', userId, params: { pluginId } },
        dedupeKey: refreshKeyOf(reader),
      })
      return { taskId, taskStatus: 'pending' }
    } finally {
      await releaseRefresh(this.#parts.database, reader)
    }
  }

  async #show(
    reader: PluginReader,
    { provider, config }: Recommender,
    items: readonly Item[],
    count = wishedCount(config),
  ): Promise<ShownItem[]> {
    const idSource = provider.idSources.recommendations
    const isOwn = idSource === OWN_SOURCE
    const [dismissed, visible, known] = await Promise.all([
      listDismissed(this.#parts.database, reader),
      isOwn
        ? findVisibleSeries(
            this.#parts.database,
            reader,
            items.map(({ externalId }) => externalId),
          )
        : new Set<string>(),
      isOwn
        ? new Map<string, string>()
        : findByExternalIds(
            this.#parts.database,
            reader,
            items.flatMap((item) => externalSeriesOf(item, idSource)),
          ),
    ])
    return shownItems(items, { idSource, dismissed: new Set(dismissed), visible, known, count })
  }

  /** Whether the reader has been shown such an item: of anything else a dismissal would be a mistake that nobody notices. */
  async #isKnown(reader: PluginReader, chosen: Recommender, externalId: string) {
    if ((await listDismissed(this.#parts.database, reader)).includes(externalId)) return true
    const stored = await findRecommendations(this.#parts.database, reader)
    const items = await this.#show(reader, chosen, (stored?.items ?? []) as Item[], KEPT_MAX)
    return items.some((item) => item.externalId === externalId)
  }

  async get({ userId }: Reader, pluginId: string | null): Promise<RecommendationList> {
    const chosen = await this.#choose({ userId }, pluginId)
    const { provider } = chosen
    const reader = { userId, pluginId: provider.id }
    // Before the list: one that ends meanwhile has then written what is read now, and no second one is begun for an old list.
    const live = await findLiveRefresh(this.#parts.database, reader)
    const stored = await findRecommendations(this.#parts.database, reader)
    // Its reasons may name what the reader may not see any more.
    const isGone = stored !== null && (await hidesAny(this.#parts.database, reader, stored.basedOn))
    const due = isDue(stored, isGone)
    const [task, items] = await Promise.all([
      live ?? (due ? this.#start(reader).then((started) => started ?? findLiveRefresh(this.#parts.database, reader)) : null),
      isGone ? [] : this.#show(reader, chosen, (stored?.items ?? []) as Item[]),
    ])
    const lastError = task === null && stored !== null ? errorOf(provider, stored, isGone) : null
    return { provider, items, generatedAt: isGone ? null : (stored?.generatedAt ?? null), task, lastError }
  }

  async refresh({ userId }: Reader, pluginId: string | null): Promise<{ taskId: string; provider: Provider }> {
    const { provider } = await this.#choose({ userId }, pluginId)
    const reader = { userId, pluginId: provider.id }
    const started = await this.#start(reader)
    if (started !== null) return { taskId: started.taskId, provider }
    const live = await findLiveRefresh(this.#parts.database, reader)
    const details = live === null ? {} : { details: { taskId: live.taskId } }
    return refuse('conflict', `${provider.name} is looking for recommendations already.`, details)
  }

  async dismiss({ userId }: Reader, pluginId: string | null, dismissal: Dismissal): Promise<void> {
    const chosen = await this.#choose({ userId }, pluginId)
    const { provider } = chosen
    const reader = { userId, pluginId: provider.id }
    if (!(await this.#isKnown(reader, chosen, dismissal.externalId)))
      refuse(
        'not_found',
        `${provider.name} recommends nothing with the externalId ${cutText(dismissal.externalId, QUOTED_LENGTH_MAX)} to you now; GET /api/v1/user/recommendations?pluginId=${provider.id} answers what it does.`,
      )
    await addDismissal(this.#parts.database, reader, dismissal)
    if (this.#closing.signal.aborted) return
    const told = this.#tell(reader, dismissal, this.#closing.signal).then(() => void this.#telling.delete(told))
    this.#telling.add(told)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#telling)
  }
}

/** Whether it is time for the next list, and nobody has asked to wait. */
function isDue(stored: StoredRecommendations | null, isGone: boolean) {
  return (
    (stored?.generatedAt == null || isGone || stored.generatedAt.getTime() + GOOD_MS <= Date.now()) &&
    (stored?.nextTryAt == null || stored.nextTryAt.getTime() <= Date.now())
  )
}
