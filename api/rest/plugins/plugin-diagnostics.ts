import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import { type Call, endpointOf, streamOf } from '#api/http/endpoint.ts'
import { eventsOf, type ServerEvent } from '#api/http/event-stream.ts'
import { PluginId, PluginReference, takingPluginIds } from '#api/rest/plugins/plugin-reference.ts'
import { AllMetrics, HealthStatus, pluginMetricsView, pluginsSummary } from '#api/views/plugin-metrics-view.ts'
import { ManifestView, manifestView } from '#api/views/plugin-view.ts'
import { mayRead, PRIVATE, wordsFor } from '#core/account/private-words.ts'
import { isRestricted } from '#core/account/user-store.ts'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { described, Noun, Nullable, OneOf, Timestamp, Uuid } from '#core/foundation/schema.ts'
import { escapedText } from '#core/foundation/stranger-text.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'
import { QUARANTINE } from '#plugins/host/plugin-health.ts'
import { countFailures, listFailures, listPluginStatuses } from '#plugins/host/plugin-store.ts'
import { isAtLeast, LOG_LEVELS, type LogLevel, type LogLine } from '#plugins/logs/lines.ts'
import { type PluginLogs, publicHost, type RecordedCall } from '#plugins/logs/plugin-logs.ts'
import { hideSecrets, redact } from '#plugins/logs/text.ts'

type Services = Pick<DataServices, 'database'> & Pick<PluginServices, 'plugins' | 'pluginLogs'>
const endpoint = endpointOf<Services>()
const stream = streamOf<Services>()

const tag = 'plugins'
const allow = { who: 'system-admin' } as const
const CallId = Type.Object({ pluginId: PluginReference, callId: Uuid })
const Count = Type.Integer({ minimum: 0 })
const Milliseconds = Type.Number({ minimum: 0 })

/** Limit of one page of failures. */
const FAILURES_MAX = 500
const LINES_MAX = 500
const LINES_DEFAULT = 200
/** Enough to recognize the request. */
const SUMMARY_LENGTH_MAX = 200
const CONFIG_LENGTH_MAX = 64_000

const Level = OneOf(LOG_LEVELS)
/** Increases from line to line, also across restarts. */
const lineId = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const LineId = Type.Integer(lineId)
const Line = Type.Object(
  {
    id: LineId,
    at: Timestamp,
    level: Level,
    message: Type.String({
      description:
        'One line; control characters are escaped, secrets are hidden, and so is what the plugin says in a call for another user.',
    }),
    data: Nullable(Type.String({ description: 'Data from the plugin as JSON, possibly shortened.' })),
    callId: Nullable(Uuid, { description: 'Null if the server reports missing lines.' }),
    method: Nullable(Type.String()),
  },
  { title: 'PluginLogLine' },
)
const lineView = ({ userId, ...line }: LogLine, readerId: string) => ({
  ...line,
  message: wordsFor(line.message, userId, readerId),
  data: mayRead(userId, readerId) ? line.data : null,
  at: line.at.toISOString(),
})
const From = {
  after: Type.Optional(Type.Integer({ ...lineId, description: 'Only lines after this one.' })),
  level: Type.Optional(Type.Enum(LOG_LEVELS, { type: 'string', description: 'Lowest level to return.' })),
}

const Source = Nullable(Type.String(), {
  description: 'Position in the source of the plugin, such as `src/main.ts:12:9`; in `main.js` if the package has no source map.',
})
const call = {
  callId: Uuid,
  method: Type.String(),
  version: Type.String(),
  userId: Nullable(Uuid),
  startedAt: Timestamp,
  code: Type.String({ description: '`ok`, or the error code.' }),
  message: Nullable(Type.String(), { description: 'Why it failed; of a successful call, an error that it did not handle.' }),
  source: Source,
  cpuMs: Milliseconds,
  wallMs: Milliseconds,
  queueMs: Milliseconds,
  inputLength: Type.Integer({ minimum: 0, description: 'Characters of JSON.' }),
  resultLength: Count,
  hostCalls: Type.Record(Type.String(), Count),
  fetches: Type.Array(Noun('PluginFetch')({ host: Type.String(), outcome: Type.String(), bytes: Count, cached: Type.Boolean() })),
  isInputCut: Type.Boolean({ description: 'Part of the input is hidden or left out, so the call cannot be repeated exactly.' }),
}
const CallSummary = Type.Object(call, { title: 'PluginCallSummary' })
const CallDetail = Type.Object({ ...call, input: Type.Unknown(), result: Type.Unknown() }, { title: 'PluginCall' })

/** What somebody may see of a call; of one for another user, nothing that may come from that user's library. */
function readable(found: RecordedCall, readerId: string): RecordedCall {
  if (mayRead(found.userId, readerId)) return found
  const message = found.message === null ? null : PRIVATE
  // The place in its sources and the names of hosts are words of the plugin too.
  const fetches = found.fetches.map((fetch) => ({ ...fetch, host: publicHost(fetch) }))
  return { ...found, input: null, result: null, isInputCut: true, message, source: null, fetches }
}

const callView = ({ input, result, startedAt, fetches, ...rest }: RecordedCall) => ({
  ...rest,
  startedAt: startedAt.toISOString(),
  fetches: fetches.map(({ host, outcome, bytes, cached }) => ({ host, outcome, bytes, cached })),
})

/** A recorded call. @throws not_found */
function getCall(logs: PluginLogs, pluginId: string, callId: string, readerId: string): RecordedCall {
  return readable(logs.findCall(pluginId, callId) ?? refuse('not_found', 'This call is no longer recorded.'), readerId)
}

/**
 * A plugin, for callers who see every series: its input and logs may name any of them.
 * @throws not_found, forbidden
 */
async function getPlugin({ services, caller }: Call<Services>, pluginId: string): Promise<InstalledPlugin> {
  const plugin = await services.plugins.get(pluginId)
  if (await isRestricted(services.database, caller))
    refuse('forbidden', 'Calls and logs of plugins may name series that you may not see. Ask an administrator who may see all series.')
  return plugin
}

async function* linesAsEvents(lines: AsyncIterable<LogLine>, least: LogLevel | undefined, readerId: string): AsyncGenerator<ServerEvent> {
  for await (const line of lines) {
    if (least === undefined || isAtLeast(line.level, least)) yield { id: String(line.id), data: lineView(line, readerId) }
  }
}

/** Follows the lines of a plugin; ends at once if it was uninstalled after the lookup, since nothing else would ever end the stream. */
async function* whileInstalled(
  { plugins, pluginLogs }: Services,
  pluginId: string,
  lines: AsyncIterable<LogLine>,
): AsyncGenerator<LogLine> {
  const plugin = await plugins.get(pluginId).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return null
    throw error
  })
  if (plugin === null) pluginLogs.forget(pluginId)
  else yield* lines
}

/** The last line that a client has seen; null for an id that is not from this server. */
const readLineId = (text: string | null): number | null => (text !== null && /^\d{1,16}$/.test(text) ? Number(text) : null)

/** Health, failures, logs and calls of plugins, for administrators. */
export const pluginDiagnosticsRoutes = takingPluginIds([
  endpoint({
    name: 'getPluginHealth',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/health',
    summary: 'Get the health of a plugin',
    tag,
    allow,
    params: PluginId,
    reply: Type.Object({
      health: Type.Object(
        {
          pluginId: Uuid,
          name: Type.String(),
          enabled: Type.Boolean(),
          healthStatus: described(HealthStatus, '`unknown` before its first answer, `degraded` while it is paused after failures.'),
          failureCount: Type.Integer({ minimum: 0, description: 'Recorded failures; reset deletes them.' }),
          lastFailureAt: Nullable(Timestamp),
          lastSuccessAt: Nullable(Timestamp),
          disabledReason: Nullable(Type.String()),
        },
        { title: 'PluginHealth' },
      ),
    }),
    run: async ({ services }, { params }) => {
      const plugin = await services.plugins.get(params.pluginId)
      const state = (await listPluginStatuses(services.database, plugin.id)).get(plugin.id)
      const [numbers] = services.pluginLogs.metrics(plugin.id)
      const health = {
        pluginId: plugin.id,
        name: plugin.key,
        enabled: plugin.state === 'enabled',
        healthStatus: services.plugins.healthOf(plugin),
        failureCount: state?.failureCount ?? 0,
        lastFailureAt: state?.lastFailureAt?.toISOString() ?? null,
        lastSuccessAt: (numbers?.lastSuccessAt ?? plugin.lastSuccessAt)?.toISOString() ?? null,
        disabledReason: plugin.stateReason,
      }
      return { health }
    },
  }),
  endpoint({
    name: 'testPlugin',
    method: 'POST',
    path: '/api/v1/admin/plugins/:pluginId/test',
    summary: 'Test a plugin: start it beside its running instance and check that it becomes ready',
    tag,
    allow,
    params: PluginId,
    reply: Type.Object(
      {
        success: Type.Boolean(),
        latencyMs: Count,
        message: Type.String(),
        code: Nullable(Type.String()),
        manifest: ManifestView,
      },
      { title: 'PluginTestResult' },
    ),
    run: async ({ services }, { params }) => {
      const result = await services.plugins.test(params.pluginId)
      return { ...result, manifest: manifestView((await services.plugins.get(params.pluginId)).manifest) }
    },
  }),
  endpoint({
    name: 'listPluginFailures',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/failures',
    summary: 'List the failures of a plugin, latest first',
    tag,
    allow,
    params: PluginId,
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: FAILURES_MAX })),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    }),
    reply: Type.Object({
      failures: Type.Array(
        Type.Object(
          {
            id: Uuid,
            errorCode: Type.String(),
            errorMessage: Type.String(),
            source: Source,
            method: Type.String(),
            occurredAt: Timestamp,
            requestSummary: Nullable(Type.String(), {
              description: 'The request, without secrets; null if the call is no longer recorded.',
            }),
            context: Type.Object({ version: Type.String(), callId: Uuid }),
          },
          { title: 'PluginFailure' },
        ),
      ),
      total: Count,
      windowFailures: Type.Integer({
        minimum: 0,
        description: 'Failures of the running version within the window that only broken or hostile code causes.',
      }),
      windowSeconds: Count,
      threshold: Type.Integer({ minimum: 0, description: 'Number of failures within the window that leads to quarantine.' }),
    }),
    run: async (call, { params, query }) => {
      const { services } = call
      const plugin = await getPlugin(call, params.pluginId)
      const { id } = plugin
      const [{ items, total }, windowFailures] = await Promise.all([
        listFailures(services.database, id, { offset: query.offset ?? 0, limit: query.limit ?? 50 }),
        countFailures(services.database, plugin, QUARANTINE),
      ])
      const calls = new Map(services.pluginLogs.calls(id).map((one) => [one.callId, readable(one, call.caller.userId)]))
      const failures = items.map(({ version, callId, userId, ...failure }) => {
        const input = mayRead(userId, call.caller.userId) ? calls.get(callId)?.input : undefined
        return {
          id: failure.id,
          errorCode: failure.code,
          errorMessage: wordsFor(escapedText(hideSecrets(failure.message)), userId, call.caller.userId),
          source: mayRead(userId, call.caller.userId) ? failure.source : null,
          method: failure.method,
          occurredAt: failure.occurredAt.toISOString(),
          requestSummary: input === undefined ? null : JSON.stringify(redact(input, { lengthMax: SUMMARY_LENGTH_MAX }).value),
          context: { version, callId },
        }
      })
      return { failures, total, windowFailures, windowSeconds: QUARANTINE.minutes * 60, threshold: QUARANTINE.failures }
    },
  }),
  endpoint({
    name: 'listPluginLogs',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/logs',
    summary: 'List the last log lines of a plugin, oldest first',
    tag,
    allow,
    params: PluginId,
    query: Type.Object({
      ...From,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LINES_MAX, description: `Default ${LINES_DEFAULT}.` })),
    }),
    reply: Type.Object({
      lines: Type.Array(Line),
      missed: Type.Integer({ minimum: 0, description: 'Lines after the given one that are no longer stored.' }),
      lastId: Nullable(LineId, { description: 'Id of the newest line; null if there never was one.' }),
    }),
    run: async (call, { params, query }) => {
      const { services } = call
      const { id } = await getPlugin(call, params.pluginId)
      const page = services.pluginLogs.lines(id, { ...query, limit: query.limit ?? LINES_DEFAULT })
      return { ...page, lines: page.lines.map((line) => lineView(line, call.caller.userId)) }
    },
  }),
  stream({
    name: 'streamPluginLogs',
    path: '/api/v1/admin/plugins/:pluginId/logs/live',
    summary:
      'Stream the log lines of a plugin as server-sent events, one line as data of each; starts after Last-Event-ID or `after`, else with the next line',
    tag,
    // The EventSource of a browser cannot send headers.
    allow: { ...allow, cookie: true },
    params: PluginId,
    query: Type.Object(From),
    mediaTypes: ['text/event-stream'],
    reply: Line,
    run: async (call, { params, query }) => {
      const { services } = call
      const { id } = await getPlugin(call, params.pluginId)
      const isAllowed = async () => !(await isRestricted(services.database, call.caller))
      return eventsOf(({ lastEventId, signal }) => {
        const after = readLineId(lastEventId) ?? query.after ?? null
        const lines = services.pluginLogs.follow(id, { after, signal })
        return linesAsEvents(whileInstalled(services, id, lines), query.level, call.caller.userId)
      }, isAllowed)
    },
  }),
  endpoint({
    name: 'listPluginCalls',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/calls',
    summary: 'List the last 50 calls of a plugin and the last 50 pictures fetched for it, newest first',
    tag,
    allow,
    params: PluginId,
    reply: Type.Object({ calls: Type.Array(CallSummary) }),
    run: async (call, { params }) => {
      const { services } = call
      const { id } = await getPlugin(call, params.pluginId)
      return { calls: services.pluginLogs.calls(id).map((one) => callView(readable(one, call.caller.userId))) }
    },
  }),
  endpoint({
    name: 'getPluginCall',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/calls/:callId',
    summary: 'Get a recorded call with its input and answer; secrets are hidden, long texts shortened',
    tag,
    allow,
    params: CallId,
    reply: CallDetail,
    run: async (call, { params }) => {
      const { services } = call
      const { id } = await getPlugin(call, params.pluginId)
      const found = getCall(services.pluginLogs, id, params.callId, call.caller.userId)
      return { ...callView(found), input: found.input, result: found.result }
    },
  }),
  endpoint({
    name: 'getPluginCallFixture',
    method: 'GET',
    path: '/api/v1/admin/plugins/:pluginId/calls/:callId/fixture',
    summary: 'Get a recorded call as a file that carrel-plugin can repeat',
    tag,
    allow,
    params: CallId,
    reply: Type.Object({
      method: Type.String(),
      input: Type.Unknown(),
      config: Type.Unknown({ description: 'The current configuration, without secrets.' }),
      isInputCut: call.isInputCut,
    }),
    run: async (call, { params }) => {
      const { services } = call
      const plugin = await getPlugin(call, params.pluginId)
      const { method, input, isInputCut } = getCall(services.pluginLogs, plugin.id, params.callId, call.caller.userId)
      return { method, input, config: redact(plugin.config, { lengthMax: CONFIG_LENGTH_MAX }).value, isInputCut }
    },
  }),
  endpoint({
    name: 'getPluginMetrics',
    method: 'GET',
    path: '/api/v1/metrics/plugins',
    summary: 'Get metrics of all plugins since the start of the server',
    tag,
    allow,
    reply: AllMetrics,
    run: async ({ services }) => {
      const [installed, state] = await Promise.all([services.plugins.list(), listPluginStatuses(services.database, null)])
      const numbers = new Map(services.pluginLogs.metrics().map((one) => [one.pluginId, one]))
      const plugins = installed.map((plugin) =>
        pluginMetricsView(plugin, numbers.get(plugin.id), {
          healthStatus: services.plugins.healthOf(plugin),
          lastFailureAt: state.get(plugin.id)?.lastFailureAt ?? null,
        }),
      )
      return { plugins, summary: pluginsSummary(plugins), updatedAt: new Date().toISOString() }
    },
  }),
])
