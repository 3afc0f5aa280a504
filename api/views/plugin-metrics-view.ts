import Type from 'typebox'
import { HEALTH } from '#api/views/plugin-view.ts'
import { described, Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import type { MethodMetrics } from '#plugins/logs/metrics.ts'
import type { PluginMetrics } from '#plugins/logs/plugin-logs.ts'

const Count = Type.Integer({ minimum: 0 })
const Milliseconds = Type.Number({ minimum: 0 })
const Counts = Type.Record(Type.String(), Count)
const Percentiles = Nullable(Noun('Percentiles')({ p50: Milliseconds, p95: Milliseconds, p99: Milliseconds, max: Milliseconds }), {
  description: 'Milliseconds, of the last 512 calls.',
})

/** How a plugin fares. */
export const HealthStatus = OneOf(HEALTH)
export type HealthStatus = (typeof HEALTH)[number]

const requests = {
  requestsTotal: Count,
  requestsSuccess: Count,
  requestsFailed: Type.Integer({ minimum: 0, description: 'All that did not succeed, whoever was at fault.' }),
  avgDurationMs: Milliseconds,
}

const OfMethod = Type.Object(
  {
    method: Type.String(),
    ...requests,
    failureCounts: Counts,
    wallMs: Percentiles,
    cpuMs: Percentiles,
    queueMs: described(Percentiles, 'What calls waited for their turn.'),
    inputLength: Type.Integer({ minimum: 0, description: 'Characters of JSON in all.' }),
    resultLength: Count,
  },
  { title: 'PluginMethodMetrics' },
)

const OfPlugin = Type.Object(
  {
    pluginId: Uuid,
    pluginName: Type.String(),
    healthStatus: HealthStatus,
    since: Nullable(Timestamp, { description: 'Since when these are counted: in the memory of this server. Null before the first call.' }),
    ...requests,
    errorRatePct: Type.Number({ minimum: 0, maximum: 100 }),
    failureCounts: described(Counts, 'By code.'),
    rateLimitRejections: Type.Integer({ minimum: 0, description: 'Calls that failed because a service takes no more for now.' }),
    lastSuccess: Nullable(Timestamp),
    lastFailure: Nullable(Timestamp),
    byMethod: Type.Record(Type.String(), OfMethod),
    running: Type.Integer({ minimum: 0, description: 'Calls that run or wait now.' }),
    hostCalls: described(Counts, 'What it asked of the server, by kind.'),
    hosts: Type.Array(
      Type.Object({
        host: Type.String(),
        outcomes: described(Counts, 'By status, or by code where there was no answer.'),
        bytes: Count,
        cacheHits: Count,
        waits: Type.Integer({ minimum: 0, description: 'Requests that waited for their turn.' }),
        waitedMs: Milliseconds,
      }),
    ),
    cacheHits: Count,
    rateLimitWaits: Count,
    rateLimitWaitedMs: Milliseconds,
    logLinesKept: Count,
    logLinesLeftOut: Type.Integer({ minimum: 0, description: 'Written too fast to be kept.' }),
  },
  { title: 'PluginMetrics' },
)

const Summary = Type.Object(
  {
    totalPlugins: Count,
    healthyPlugins: Count,
    degradedPlugins: Count,
    unhealthyPlugins: Type.Integer({ minimum: 0, description: 'In quarantine or revoked.' }),
    totalRequests: Count,
    totalSuccess: Count,
    totalFailed: Count,
    totalRateLimitRejections: Count,
  },
  { title: 'PluginMetricsSummary' },
)

export const AllMetrics = Type.Object({ plugins: Type.Array(OfPlugin), summary: Summary, updatedAt: Timestamp })

/** A failure of this code says that a service takes no more for now. */
const RATE_LIMITED = 'rate_limited'

const shownMethod = (one: MethodMetrics) => ({
  method: one.method,
  requestsTotal: one.calls,
  requestsSuccess: one.succeeded,
  requestsFailed: one.failed,
  avgDurationMs: one.meanWallMs,
  failureCounts: one.errors,
  wallMs: one.wallMs,
  cpuMs: one.cpuMs,
  queueMs: one.queueMs,
  inputLength: one.inputLength,
  resultLength: one.resultLength,
})

/** What administrators see of the numbers of a plugin; nulls and zeros where it did nothing yet. */
export function shownMetrics(
  plugin: InstalledPlugin,
  known: PluginMetrics | undefined,
  { healthStatus, lastFailureAt }: { healthStatus: HealthStatus; lastFailureAt: Date | null },
) {
  const lastSuccess = known?.lastSuccessAt ?? plugin.lastSuccessAt
  const lastFailure = known?.lastFailureAt ?? lastFailureAt
  const calls = known?.calls ?? 0
  const failed = known?.failed ?? 0
  return {
    pluginId: plugin.id,
    pluginName: plugin.key,
    healthStatus,
    since: known?.since.toISOString() ?? null,
    requestsTotal: calls,
    requestsSuccess: known?.succeeded ?? 0,
    requestsFailed: failed,
    avgDurationMs: known?.meanWallMs ?? 0,
    errorRatePct: calls === 0 ? 0 : (failed / calls) * 100,
    failureCounts: known?.errors ?? {},
    rateLimitRejections: known?.errors[RATE_LIMITED] ?? 0,
    lastSuccess: lastSuccess?.toISOString() ?? null,
    lastFailure: lastFailure?.toISOString() ?? null,
    byMethod: Object.fromEntries((known?.methods ?? []).map((one) => [one.method, shownMethod(one)])),
    running: known?.running ?? 0,
    hostCalls: known?.hostCalls ?? {},
    hosts: known?.hosts ?? [],
    cacheHits: known?.cacheHits ?? 0,
    rateLimitWaits: known?.rateLimitWaits ?? 0,
    rateLimitWaitedMs: known?.rateLimitWaitedMs ?? 0,
    logLinesKept: known?.linesKept ?? 0,
    logLinesLeftOut: known?.linesLeftOut ?? 0,
  }
}

/** All plugins in a few numbers. */
export function summaryOf(plugins: readonly ReturnType<typeof shownMetrics>[]) {
  const count = (...statuses: HealthStatus[]) => plugins.filter(({ healthStatus }) => statuses.includes(healthStatus)).length
  const sum = (of: (plugin: ReturnType<typeof shownMetrics>) => number) => plugins.reduce((total, plugin) => total + of(plugin), 0)
  return {
    totalPlugins: plugins.length,
    healthyPlugins: count('healthy'),
    degradedPlugins: count('degraded'),
    unhealthyPlugins: count('quarantined', 'revoked'),
    totalRequests: sum((one) => one.requestsTotal),
    totalSuccess: sum((one) => one.requestsSuccess),
    totalFailed: sum((one) => one.requestsFailed),
    totalRateLimitRejections: sum((one) => one.rateLimitRejections),
  }
}
