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
  description: 'Milliseconds, over the last 512 calls.',
})

/** The health of a plugin. */
export const HealthStatus = OneOf(HEALTH)
export type HealthStatus = (typeof HEALTH)[number]

const requests = {
  requestsTotal: Count,
  requestsSuccess: Count,
  requestsFailed: Type.Integer({ minimum: 0, description: 'Calls that failed for any reason.' }),
  avgDurationMs: Milliseconds,
}

const OfMethod = Type.Object(
  {
    method: Type.String(),
    ...requests,
    failureCounts: Counts,
    wallMs: Percentiles,
    cpuMs: Percentiles,
    queueMs: described(Percentiles, 'How long calls waited before they ran.'),
    inputLength: Type.Integer({ minimum: 0, description: 'Total characters of JSON.' }),
    resultLength: Count,
  },
  { title: 'PluginMethodMetrics' },
)

const OfPlugin = Type.Object(
  {
    pluginId: Uuid,
    pluginName: Type.String(),
    healthStatus: HealthStatus,
    since: Nullable(Timestamp, { description: 'When this server began to count, in memory. Null before the first call.' }),
    ...requests,
    errorRatePct: Type.Number({ minimum: 0, maximum: 100 }),
    failureCounts: described(Counts, 'Failures by code.'),
    rateLimitRejections: Type.Integer({ minimum: 0, description: 'Calls that failed because of the rate limit of a service.' }),
    lastSuccess: Nullable(Timestamp),
    lastFailure: Nullable(Timestamp),
    byMethod: Type.Record(Type.String(), OfMethod),
    running: Type.Integer({ minimum: 0, description: 'Calls that are running or waiting.' }),
    hostCalls: described(Counts, 'Calls of the plugin to the server, by kind.'),
    hosts: Type.Array(
      Type.Object({
        host: Type.String(),
        outcomes: described(Counts, 'Requests by status, or by error code if there was no response.'),
        bytes: Count,
        cacheHits: Count,
        waits: Type.Integer({ minimum: 0, description: 'Requests that waited for the rate limit.' }),
        waitedMs: Milliseconds,
      }),
    ),
    cacheHits: Count,
    rateLimitWaits: Count,
    rateLimitWaitedMs: Milliseconds,
    logLinesKept: Count,
    logLinesLeftOut: Type.Integer({ minimum: 0, description: 'Log lines that were dropped because they came too fast.' }),
  },
  { title: 'PluginMetrics' },
)

const Summary = Type.Object(
  {
    totalPlugins: Count,
    healthyPlugins: Count,
    degradedPlugins: Count,
    unhealthyPlugins: Type.Integer({ minimum: 0, description: 'Plugins in quarantine or revoked.' }),
    totalRequests: Count,
    totalSuccess: Count,
    totalFailed: Count,
    totalRateLimitRejections: Count,
  },
  { title: 'PluginMetricsSummary' },
)

export const AllMetrics = Type.Object({ plugins: Type.Array(OfPlugin), summary: Summary, updatedAt: Timestamp })

/** The failure code for the rate limit of a service. */
const RATE_LIMITED = 'rate_limited'

const methodView = (one: MethodMetrics) => ({
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

/** The metrics of a plugin for administrators; nulls and zeros before its first call. */
export function pluginMetricsView(
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
    byMethod: Object.fromEntries((known?.methods ?? []).map((one) => [one.method, methodView(one)])),
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

/** Totals of all plugins. */
export function pluginsSummary(plugins: readonly ReturnType<typeof pluginMetricsView>[]) {
  const count = (...statuses: HealthStatus[]) => plugins.filter(({ healthStatus }) => statuses.includes(healthStatus)).length
  const sum = (of: (plugin: ReturnType<typeof pluginMetricsView>) => number) => plugins.reduce((total, plugin) => total + of(plugin), 0)
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
