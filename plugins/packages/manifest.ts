import type { Static } from 'typebox'
import Type from 'typebox'
import { OneOf } from '#core/foundation/schema.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'

/** Which part of the interface for plugins this server offers. */
export const PLUGIN_API = '1.0'

const PLUGIN_ID = '^[a-z0-9]+([.-][a-z0-9]+)+$'
/** Strict semantic versions, without anything behind the three numbers but a pre-release. */
const NUMBER = '(0|[1-9]\\d{0,5})'
const PRE_RELEASE = '(0|[1-9]\\d{0,15}|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const VERSION = `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRE_RELEASE}(\\.${PRE_RELEASE})*)?$`
/** A host of the public internet by its name: numbers are refused, and so is what has no dot. */
export const HOST = '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$'
/**
 * One line that people read before they agree: no control characters, nothing that turns its direction, and something to see. The length is counted
 * here, in code points, for `maxLength` counts what stands as one character, and that may be thousands put on top of each other.
 */
const lineOf = (length: number) =>
  `^(?=[^\\p{L}\\p{N}]*[\\p{L}\\p{N}])[^\\p{Cc}\\p{Cs}\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]{1,${length}}$`
/** An address to click on: a name, perhaps a port, and nothing that has to be escaped; so neither credentials nor markup. */
const URL_TEXT = '^https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?([/?#][A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*)?$'
const LINK_TEMPLATE =
  '^https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/[A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*\\{(title|id)\\}[A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*$'
const CONFIG_KEY = '^[A-Za-z][A-Za-z0-9_]{0,63}$'
const LANGUAGE = '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$'
/** Without a colon: the server puts `plugin:` in front. */
const SOURCE = '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$'
const HEADER = '^[A-Za-z][A-Za-z0-9-]{0,63}$'
/** Of a parameter of an address or of a member of a body: what needs no escaping in either. */
const FIELD = '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$'
/** Headers that say where a request goes and how it is framed; no service wants credentials there, and a manifest could bend requests by them. */
export const FORBIDDEN_HEADER =
  /^(host|connection|keep-alive|transfer-encoding|content-.*|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*)$/i
const PRINTABLE = '^[ -~]+$'
const OAUTH_SCOPE = '^[!#-\\[\\]-~]{1,200}$'
const PLUGIN_API_RANGE = '^\\^1\\.(0|[1-9]\\d{0,3})$'
/** A week: what services say of a book changes seldom, and no longer is anything kept that they may have taken back. */
const CACHE_SECONDS_MAX = 7 * 86_400
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const

export const LIBRARY_SCOPES = ['series.titles', 'series.metadata', 'series.externalIds', 'reading.progress', 'ratings'] as const

/** Functions that each capability may have; their paths in the plugin are the capability and the name. */
export const CAPABILITY_METHODS = {
  'metadata.series': ['search', 'get', 'match'],
  'metadata.book': ['search', 'get', 'match'],
  recommendations: ['get', 'refresh', 'dismiss'],
} as const
export type Capability = keyof typeof CAPABILITY_METHODS
/** Capabilities that will come; nobody may use their names for something else until then. */
export const RESERVED_CAPABILITIES = ['sync', 'releases', 'notifications']

/** What the patterns say, for people. */
export const PATTERNS: Record<string, string> = {
  [PLUGIN_ID]: 'must be lower-case ASCII words with dots or hyphens between them, such as org.example.anilist',
  [VERSION]: 'must be a semantic version such as 1.4.0 or 1.4.0-beta.1',
  [HOST]: 'must be the name of a host in lower case, with a dot in it and without scheme, port or path; *. may stand in front',
  [URL_TEXT]: 'must be an https address without credentials, percent-encoded where needed',
  [LINK_TEMPLATE]: 'must be an https address with {title} or {id} behind its host, once',
  [CONFIG_KEY]: 'must be the name of a member of config: letters, digits and underscores',
  [LANGUAGE]: 'must be a language such as en or pt-BR',
  [SOURCE]: 'must be a lower-case ASCII word such as anilist',
  [HEADER]: 'must be the name of a header',
  [FIELD]: 'must be a name of letters, digits, underscores, dots and hyphens',
  [PRINTABLE]: 'must be printable ASCII',
  [OAUTH_SCOPE]: 'must be a scope as OAuth 2 spells them: printable ASCII without spaces and quotes',
  [PLUGIN_API_RANGE]: `must be a caret range such as ^${PLUGIN_API}`,
}

function Text(length: number) {
  const pattern = lineOf(length)
  PATTERNS[pattern] = `must be one line of 1 to ${length} readable characters, without control characters`
  return Type.String({ pattern, maxLength: length })
}
const Url = Type.String({ maxLength: 2_000, pattern: URL_TEXT })
/** An address with a place to fill in; the value is percent-encoded when it is. */
const LinkTemplate = Type.String({ maxLength: 2_000, pattern: LINK_TEMPLATE })
const Host = Type.String({ pattern: HOST, maxLength: 253 })
/** Members of a configuration, which are read by this name in the code too. */
const ConfigKey = Type.String({ pattern: CONFIG_KEY, maxLength: 64 })

/** What a configuration is described by; that description has limits of its own (ConfigSchema), and far fewer members. */
const SchemaOf = (description: string) =>
  Type.Record(Type.String(), Type.Unknown({ 'x-limited-by': 'ConfigSchema' }), { maxProperties: 20, description })

const IdSource = Type.String({
  maxLength: 100,
  pattern: SOURCE,
  description:
    'Name of the service, such as anilist; the id of the plugin unless said. What the plugin calls its records by (externalId) is kept under plugin: and this name, as in externalIds.plugin:anilist. Plugins for the same service have the same name and share its identifiers.',
})

const MetadataCapability = Type.Object({
  methods: Type.Array(OneOf(['search', 'get', 'match']), { minItems: 1, maxItems: 3, uniqueItems: true }),
  idSource: Type.Optional(IdSource),
  languages: Type.Optional(Type.Array(Type.String({ maxLength: 35, pattern: LANGUAGE }), { maxItems: 200 })),
})

/** `manifest.json` of a plugin. Members that nobody here knows are passed over, so that newer plugins still read. */
export const Manifest = Type.Object({
  manifestVersion: Type.Literal(1),
  id: Type.String({ pattern: PLUGIN_ID, maxLength: 64 }),
  name: Text(60),
  version: Type.String({ pattern: VERSION, maxLength: 64 }),
  summary: Text(120),
  description: Type.Optional(Text(200)),
  author: Type.Optional(Type.Object({ name: Text(100), url: Type.Optional(Url) })),
  license: Type.Optional(Text(100)),
  homepage: Type.Optional(Url),
  repository: Type.Optional(Url),
  engine: Type.Object({ pluginApi: Type.String({ pattern: PLUGIN_API_RANGE, maxLength: 10, description: 'Such as ^1.0.' }) }),
  main: Type.Optional(Type.Literal('main.js')),
  capabilities: Type.Object({
    'metadata.series': Type.Optional(MetadataCapability),
    'metadata.book': Type.Optional(MetadataCapability),
    recommendations: Type.Optional(
      Type.Object({
        methods: Type.Array(OneOf(['get', 'refresh', 'dismiss']), { minItems: 1, maxItems: 3, uniqueItems: true }),
        scope: Type.Optional(Type.Literal('user')),
        idSource: Type.Optional(
          Type.String({
            maxLength: 100,
            pattern: SOURCE,
            description:
              'Name of the service whose identifiers the recommendations have; that of metadata.series, or the id of the plugin, unless said. By it recommended series are found in the library. carrel: the identifiers are ids of series of this library (seriesId of ctx.library.entries).',
          }),
        ),
      }),
    ),
    /** Links to a service beside a series: to its search by title, and to what an external id of the plugin's `idSource` means. */
    webLinks: Type.Optional(
      Type.Object({ search: Type.Optional(LinkTemplate), series: Type.Optional(LinkTemplate), book: Type.Optional(LinkTemplate) }),
    ),
  }),
  permissions: Type.Optional(
    Type.Object({
      network: Type.Optional(
        Type.Array(
          Type.Object({
            host: Host,
            methods: Type.Optional(Type.Array(OneOf([...METHODS]), { maxItems: METHODS.length, uniqueItems: true })),
            reason: Text(200),
          }),
          { maxItems: 20 },
        ),
      ),
      /** Members of `config` with addresses that administrators enter: those hosts are talked to as well, by GET and POST. */
      networkFromConfig: Type.Optional(Type.Array(ConfigKey, { maxItems: 5, uniqueItems: true })),
      storage: Type.Optional(Type.Object({ quotaKB: Type.Integer({ minimum: 1, maximum: 20_480 }) })),
      library: Type.Optional(Type.Array(OneOf([...LIBRARY_SCOPES]), { maxItems: LIBRARY_SCOPES.length, uniqueItems: true })),
    }),
  ),
  auth: Type.Optional(
    Type.Object({
      type: OneOf(['none', 'apiKey', 'basic', 'oauth2']),
      scope: OneOf(['user', 'server']),
      bind: Type.Optional(
        Type.Object({
          host: Type.Optional(Host),
          hostFrom: Type.Optional(
            Type.String({
              ...{ pattern: CONFIG_KEY, maxLength: 64 },
              description: 'In place of host: a member of permissions.networkFromConfig, whose address administrators enter.',
            }),
          ),
          header: Type.Optional(Type.String({ pattern: HEADER, maxLength: 64 })),
          query: Type.Optional(
            Type.String({ pattern: FIELD, maxLength: 64, description: 'In place of header: a parameter of the address.' }),
          ),
          body: Type.Optional(
            Type.String({
              ...{ pattern: FIELD, maxLength: 64 },
              description: 'In place of header: a member of the body, which is a form or an object as JSON.',
            }),
          ),
          usernameField: Type.Optional(
            Type.String({
              ...{ pattern: FIELD, maxLength: 64 },
              description: 'For basic, beside query or body: where the user name stands. The other one then holds the password alone.',
            }),
          ),
          format: Type.Optional(
            Type.String({ maxLength: 200, pattern: PRINTABLE, description: 'Holds {token}, which alone it is unless given.' }),
          ),
        }),
      ),
      oauth2: Type.Optional(
        Type.Object({
          authorizeUrl: Url,
          tokenUrl: Url,
          scopes: Type.Optional(Type.Array(Type.String({ pattern: OAUTH_SCOPE, maxLength: 200 }), { maxItems: 50, uniqueItems: true })),
          pkce: Type.Optional(Type.Boolean({ description: 'Sent unless it is false.' })),
        }),
      ),
    }),
  ),
  config: Type.Optional(SchemaOf('A JSON Schema: what administrators set.')),
  userConfig: Type.Optional(SchemaOf('A JSON Schema: what each reader sets.')),
  /** Of what the plugin keeps in its storage; when it rises, `migrate` is called before the new version runs. */
  dataVersion: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  http: Type.Optional(
    Type.Object({
      /** By host: what its terms allow; less than the server would, never more. */
      rateLimit: Type.Optional(
        Type.Record(
          Type.String({ pattern: HOST }),
          Type.Object({
            perMinute: Type.Integer({ minimum: 1, maximum: 300 }),
            burst: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
            maxParallel: Type.Optional(Type.Integer({ minimum: 1, maximum: 6 })),
          }),
          // Those that it may talk to by name, and those that administrators enter.
          { maxProperties: 25 },
        ),
      ),
      /** Seconds for which answers to GET are kept and given again, by the function that asks. */
      cacheTtl: Type.Optional(
        Type.Object({
          search: Type.Optional(Type.Integer({ minimum: 0, maximum: CACHE_SECONDS_MAX })),
          get: Type.Optional(Type.Integer({ minimum: 0, maximum: CACHE_SECONDS_MAX })),
          match: Type.Optional(Type.Integer({ minimum: 0, maximum: CACHE_SECONDS_MAX })),
          refresh: Type.Optional(Type.Integer({ minimum: 0, maximum: CACHE_SECONDS_MAX })),
        }),
      ),
    }),
  ),
  limits: Type.Optional(
    Type.Object({
      heapMB: Type.Optional(Type.Integer({ minimum: 16, maximum: 256 })),
      cpuMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 5_000 })),
      wallMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 60_000 })),
    }),
  ),
})
export type Manifest = Static<typeof Manifest>

/** The same for those who read it as JSON Schema. */
export const MANIFEST_SHAPE = Manifest as Shape
/** What a manifest may weigh: one with long lists has 10 KB. */
export const MANIFEST_BYTES_MAX = 64 * 1024

/** Paths of the functions that a plugin must define, as its manifest says. */
export const methodsOf = ({ capabilities }: Manifest): string[] =>
  Object.entries(capabilities).flatMap(([capability, given]) =>
    ((given as { methods?: string[] } | undefined)?.methods ?? []).map((method) => `${capability}.${method}`),
  )
