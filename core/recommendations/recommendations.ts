import type { Caller } from '#core/account/caller.ts'
import { isRestricted } from '#core/account/user-store.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { OWN_SOURCE } from '#core/fields/source-key.ts'
import { refuse } from '#core/foundation/errors.ts'
import { quotedText } from '#core/foundation/stranger-text.ts'
import { cutText } from '#core/foundation/text.ts'
import type { Recommendation } from '#core/matching/provider-answers.ts'
import type { PluginUser, Provider, Recommender } from '#core/matching/provider-client.ts'
import { addDismissal, type Dismissal, listDismissed } from '#core/recommendations/dismissal-store.ts'
import { findByExternalIds, findVisibleSeries, hidesAny } from '#core/recommendations/external-series-query.ts'
import { externalSeriesOf, KEPT_MAX, type RecommendationView, recommendationViews, visibleCount } from '#core/recommendations/item-view.ts'
import {
  claimRefresh,
  findLiveRefresh,
  findRecommendations,
  type LiveRefresh,
  refreshKeyOf,
  releaseRefresh,
  type StoredRecommendations,
} from '#core/recommendations/recommendation-store.ts'
import { handleRefreshes, type RefreshDependencies, reportDismissal } from '#core/recommendations/refresh-task.ts'

type User = Pick<Caller, 'userId'>

/** The recommendations of one provider for a user. */
interface RecommendationList {
  provider: Provider
  items: RecommendationView[]
  /** Null if no list was made yet. */
  generatedAt: Date | null
  /** Null if no task waits or runs. */
  task: LiveRefresh | null
  /** Why the last run failed; null if it did not, or if the next one waits or runs. */
  lastError: { code: string; message: string; at: Date } | null
}

/** A list is valid for a day. */
const GOOD_MS = 24 * 3600 * 1000
/** How much of an unknown identifier a message repeats. */
const QUOTED_LENGTH_MAX = 60

/** @param isHidden whether the plugin's message may name series that the viewer may not see */
function errorOf({ name }: Provider, stored: StoredRecommendations, isHidden: boolean): RecommendationList['lastError'] {
  const { lastError, lastErrorCode: code, lastErrorAt: at } = stored
  if (lastError === null || code === null || at === null) return null
  return { code, message: isHidden ? `${quotedText(name)} could not make a list.` : lastError, at }
}

/**
 * Recommendations of plugins for users. By default of the first plugin by name among those that the user has enabled, test tools excluded. Registers the task
 * that makes the lists: create it before `tasks.start()`.
 */
export class Recommendations {
  readonly #dependencies: RefreshDependencies
  readonly #closing = new AbortController()
  readonly #reporting = new Set<Promise<void>>()

  constructor(dependencies: RefreshDependencies) {
    this.#dependencies = dependencies
    handleRefreshes(dependencies)
  }

  async #choose({ userId }: User, pluginId: string | null): Promise<Recommender> {
    const offered = (await this.#dependencies.providers.listRecommenders(userId)).filter(
      ({ provider }) => pluginId === null || provider.id === pluginId.toLowerCase(),
    )
    const first = offered.find(({ provider }) => pluginId !== null || !provider.isTestTool)
    if (first !== undefined) return first
    const what =
      pluginId === null ? 'You have enabled no plugin that recommends' : `You have not enabled a plugin ${pluginId} that recommends`
    const tool = offered[0]?.provider
    const but = tool === undefined ? '' : ` but ${quotedText(tool.name)}, which is for tests: name it with pluginId=${tool.id}`
    return refuse('not_found', `${what}${but}; GET /api/v1/user/plugins lists your plugins, and those that wait for your consent again.`)
  }

  /** Adds the task of the next list. Null if one waits or runs, or another request is about to add it. */
  async #start(user: PluginUser): Promise<LiveRefresh | null> {
    if (!(await claimRefresh(this.#dependencies.database, user))) return null
    try {
      const { pluginId, userId } = user
      const { taskId } = await this.#dependencies.tasks.add({
        type: 'refresh_recommendations',
        userId,
        params: { pluginId },
        dedupeKey: refreshKeyOf(user),
      })
      return { taskId, taskStatus: 'pending' }
    } finally {
      await releaseRefresh(this.#dependencies.database, user)
    }
  }

  async #show(
    viewer: Viewer,
    { provider, config }: Recommender,
    items: readonly Recommendation[],
    count = visibleCount(config),
  ): Promise<RecommendationView[]> {
    const idSource = provider.idSources.recommendations
    const isOwn = idSource === OWN_SOURCE
    const [restricted, dismissed, visible, known] = await Promise.all([
      isRestricted(this.#dependencies.database, viewer),
      listDismissed(this.#dependencies.database, { userId: viewer.userId, pluginId: provider.id }),
      isOwn
        ? findVisibleSeries(
            this.#dependencies.database,
            viewer,
            items.map(({ externalId }) => externalId),
          )
        : new Set<string>(),
      isOwn
        ? new Map<string, string>()
        : findByExternalIds(
            this.#dependencies.database,
            viewer,
            items.flatMap((item) => externalSeriesOf(item, idSource)),
          ),
    ])
    return recommendationViews(items, { idSource, dismissed: new Set(dismissed), visible, known, seesAll: !restricted, count })
  }

  /** Whether the viewer has seen such an item: dismissing anything else would be an error without a message. */
  async #isKnown(viewer: Viewer, chosen: Recommender, externalId: string) {
    const user = { userId: viewer.userId, pluginId: chosen.provider.id }
    if ((await listDismissed(this.#dependencies.database, user)).includes(externalId)) return true
    const stored = await findRecommendations(this.#dependencies.database, user)
    if (stored === null || (await hidesAny(this.#dependencies.database, viewer, stored.basedOn))) return false
    const items = await this.#show(viewer, chosen, stored.items as Recommendation[], KEPT_MAX)
    return items.some((item) => item.externalId === externalId)
  }

  /** Returns the stored list immediately; if that is old or missing, a task makes the next one, unless the caller may only read. @throws not_found */
  async get(caller: Viewer & Pick<Caller, 'permissions'>, pluginId: string | null): Promise<RecommendationList> {
    const { userId } = caller
    const chosen = await this.#choose({ userId }, pluginId)
    const { provider } = chosen
    const user = { userId, pluginId: provider.id }
    // Before the list: if the task ends in between, the list that is read next is already new, and no second task starts for an old list.
    const live = await findLiveRefresh(this.#dependencies.database, user)
    const stored = await findRecommendations(this.#dependencies.database, user)
    // The reasons may name series that the caller may not see. Only for what the user may not see any more does a new list help.
    const hides = async (viewer: Viewer) => stored !== null && (await hidesAny(this.#dependencies.database, viewer, stored.basedOn))
    const isHidden = await hides(caller)
    const isGone = isHidden && (await hides({ userId, narrowedBy: null }))
    const due = caller.permissions.has('progress-write') && isDue(stored, isGone)
    const [task, items] = await Promise.all([
      live ?? (due ? this.#start(user).then((started) => started ?? findLiveRefresh(this.#dependencies.database, user)) : null),
      isHidden ? [] : this.#show(caller, chosen, (stored?.items ?? []) as Recommendation[]),
    ])
    const lastError = task === null && stored !== null ? errorOf(provider, stored, isHidden) : null
    return { provider, items, generatedAt: isHidden ? null : (stored?.generatedAt ?? null), task, lastError }
  }

  /** Returns the id of the task. @throws not_found; conflict while one waits or runs */
  async refresh({ userId }: User, pluginId: string | null): Promise<{ taskId: string; provider: Provider }> {
    const { provider } = await this.#choose({ userId }, pluginId)
    const user = { userId, pluginId: provider.id }
    const started = await this.#start(user)
    if (started !== null) return { taskId: started.taskId, provider }
    const live = await findLiveRefresh(this.#dependencies.database, user)
    const details = live === null ? {} : { details: { taskId: live.taskId } }
    return refuse('conflict', `${quotedText(provider.name)} is making a new list already.`, details)
  }

  /**
   * Never shows the item to the user again, whatever the plugin recommends; the plugin is notified in the background. May be repeated.
   * @throws not_found if the item is not in the user's list
   */
  async dismiss(caller: Viewer, pluginId: string | null, dismissal: Dismissal): Promise<void> {
    const chosen = await this.#choose(caller, pluginId)
    const { provider } = chosen
    const user = { userId: caller.userId, pluginId: provider.id }
    if (!(await this.#isKnown(caller, chosen, dismissal.externalId)))
      refuse(
        'not_found',
        `${quotedText(provider.name)} does not recommend anything with the externalId ${cutText(dismissal.externalId, QUOTED_LENGTH_MAX)} to you now; GET /api/v1/user/recommendations?pluginId=${provider.id} returns its list.`,
      )
    await addDismissal(this.#dependencies.database, user, dismissal)
    if (this.#closing.signal.aborted) return
    const notified = reportDismissal(this.#dependencies, user, dismissal, this.#closing.signal).then(
      () => void this.#reporting.delete(notified),
    )
    this.#reporting.add(notified)
  }

  /** Stops notifying plugins; they are notified before their next list. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#reporting)
  }
}

/** Whether it is time for the next list, and no wait is in effect. */
function isDue(stored: StoredRecommendations | null, isGone: boolean) {
  return (
    (stored?.generatedAt == null || isGone || stored.generatedAt.getTime() + GOOD_MS <= Date.now()) &&
    (stored?.nextTryAt == null || stored.nextTryAt.getTime() <= Date.now())
  )
}
