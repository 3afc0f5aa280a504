import type { Static } from 'typebox'
import Type from 'typebox'
import { OneOf } from '#core/foundation/schema.ts'
import { readableLinePattern } from '#core/foundation/stranger-text.ts'
import { type Advice, hostAdvice, unreadableAdvice } from '#plugins/packages/manifest-advice.ts'
import type { Shape } from '#plugins/packages/manifest-form.ts'

/** The version of the plugin interface that this server offers. */
export const PLUGIN_API = '1.0'

/** Of each call, unless the manifest has others. */
export const DEFAULT_LIMITS = { heapMB: 64, cpuMs: 500, wallMs: 20_000 } as const

const PLUGIN_ID = '^[a-z0-9]+([.-][a-z0-9]+)+$'
/** Strict semantic versions: three numbers and an optional pre-release, without build metadata. */
const NUMBER = '(0|[1-9]\\d{0,5})'
const PRE_RELEASE = '(0|[1-9]\\d{0,15}|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const VERSION = `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRE_RELEASE}(\\.${PRE_RELEASE})*)?$`
/** A public host name: no IP addresses, and at least one dot. */
export const HOST = '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$'
/** A URL for links: a host name, an optional port, and no characters that need escaping; so neither credentials nor markup. */
const URL_TEXT = '^https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?([/?#][A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*)?$'
const LINK_TEMPLATE =
  '^https://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/[A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*\\{(title|id)\\}[A-Za-z0-9._~:/?#\\[\\]@!$&\\(\\)*+,;=%-]*$'
const CONFIG_KEY = '^[A-Za-z][A-Za-z0-9_]{0,63}$'
const LANGUAGE = '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$'
/** Without a colon: the server adds `plugin:` in front. */
const SOURCE = '^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$'
const HEADER = '^[A-Za-z][A-Za-z0-9-]{0,63}$'
/** Name of a query parameter or of a member of a body: only characters that need no escaping in either. */
const FIELD = '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$'
/** Headers for routing and framing; no service expects credentials in them, and a manifest could use them to smuggle requests. */
export const FORBIDDEN_HEADER =
  /^(host|connection|keep-alive|transfer-encoding|content-.*|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|sec-.*|via|forwarded|x-forwarded-.*)$/i
const PRINTABLE = '^[ -~]+$'
const OAUTH_SCOPE = '^[!#-\\[\\]-~]{1,200}$'
const PLUGIN_API_RANGE = '^\\^1\\.(0|[1-9]\\d{0,3})$'
/** A week: services seldom change a book's data, and anything that they have withdrawn should not stay cached longer. */
const CACHE_SECONDS_MAX = 7 * 86_400
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const

export const LIBRARY_SCOPES = ['series.titles', 'series.metadata', 'series.externalIds', 'reading.progress', 'ratings'] as const

/** The functions of each capability; the path of a function in the plugin is the capability and the name. */
export const CAPABILITY_METHODS = {
  'metadata.series': ['search', 'get', 'match'],
  'metadata.book': ['search', 'get', 'match'],
  recommendations: ['get', 'refresh', 'dismiss'],
} as const
/** Names of planned capabilities, which plugins must not use for something else until then. */
export const RESERVED_CAPABILITIES = ['sync', 'releases', 'notifications']

/** For texts that their patterns refuse, by pattern. */
export const ADVICE: Record<string, Advice> = { [HOST]: hostAdvice }

/** Descriptions of the patterns for people. */
export const PATTERNS: Record<string, string> = {
  [PLUGIN_ID]:
    'must be at least two words of lower-case ASCII letters and digits, with a dot or hyphen between them, such as org.example.anilist',
  [VERSION]: 'must be a semantic version such as 1.4.0 or 1.4.0-beta.1',
  [HOST]:
    'must be a lower-case host name with a dot, without scheme, port or path, such as api.example.org, or *.example.org for all names below it',
  [URL_TEXT]: 'must be an https URL without credentials, percent-encoded where needed',
  [LINK_TEMPLATE]: 'must be an https URL that contains {title} or {id} once, after its host',
  [CONFIG_KEY]: 'must be the name of a member of config: letters, digits and underscores',
  [LANGUAGE]: 'must be a language such as en or pt-BR',
  [SOURCE]: 'must be a lower-case ASCII word such as anilist',
  [HEADER]: 'must be the name of a header, such as Authorization',
  [FIELD]: 'must be a name of letters, digits, underscores, dots and hyphens',
  [PRINTABLE]: 'must be printable ASCII',
  [OAUTH_SCOPE]: 'must be an OAuth 2 scope: printable ASCII without spaces and quotes',
  [PLUGIN_API_RANGE]: `must be ^${PLUGIN_API}: this version of Carrel has plugin API ${PLUGIN_API}`,
}

function Text(length: number) {
  const pattern = readableLinePattern(length)
  PATTERNS[pattern] = `must be one line of 1 to ${length} readable characters`
  ADVICE[pattern] = unreadableAdvice(length)
  return Type.String({ pattern, maxLength: length })
}
const Url = Type.String({ maxLength: 2_000, pattern: URL_TEXT })
/** A URL with a placeholder, whose value is percent-encoded. */
const LinkTemplate = Type.String({ maxLength: 2_000, pattern: LINK_TEMPLATE })
const Host = Type.String({ pattern: HOST, maxLength: 253 })
/** Names of configuration members, which the code uses too. */
const ConfigKey = Type.String({ pattern: CONFIG_KEY, maxLength: 64 })

/** The schema of a configuration has its own limits (ConfigSchema), and far fewer members. */
const SchemaOf = (description: string) =>
  Type.Record(Type.String(), Type.Unknown({ 'x-limited-by': 'ConfigSchema' }), { maxProperties: 20, description })

const IdSource = Type.String({
  maxLength: 100,
  pattern: SOURCE,
  description:
    'Name of the service, such as anilist; by default the id of the plugin. The identifiers of its records (externalId) are stored under plugin: and this name, as in externalIds.plugin:anilist. Plugins for the same service use the same name and share its identifiers.',
})

const MetadataCapability = Type.Object({
  methods: Type.Array(OneOf(['search', 'get', 'match']), { minItems: 1, maxItems: 3, uniqueItems: true }),
  idSource: Type.Optional(IdSource),
  languages: Type.Optional(Type.Array(Type.String({ maxLength: 35, pattern: LANGUAGE }), { maxItems: 200 })),
})

/** `manifest.json` of a plugin. Unknown members are dropped when it is read, so that manifests of newer plugins can be read. */
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
  main: Type.Optional(Type.Literal('main.js', { default: 'main.js' })),
  capabilities: Type.Object({
    'metadata.series': Type.Optional(MetadataCapability),
    'metadata.book': Type.Optional(MetadataCapability),
    recommendations: Type.Optional(
      Type.Object({
        methods: Type.Array(OneOf(['get', 'refresh', 'dismiss']), { minItems: 1, maxItems: 3, uniqueItems: true }),
        scope: Type.Optional(Type.Literal('user', { default: 'user' })),
        idSource: Type.Optional(
          Type.String({
            maxLength: 100,
            pattern: SOURCE,
            description:
              'Name of the service whose identifiers the recommendations use; by default that of metadata.series, or the id of the plugin. The server uses it to find recommended series in the library. carrel: the identifiers are ids of series of this library (seriesId of ctx.library.entries).',
          }),
        ),
      }),
    ),
    /** Links to a service on series pages: to its search by title, and to the record of an external id under the plugin's `idSource`. */
    webLinks: Type.Optional(
      Type.Object({
        search: Type.Optional(LinkTemplate),
        series: Type.Optional(LinkTemplate),
        book: Type.Optional(LinkTemplate),
        hosts: Type.Optional(
          Type.Array(Host, {
            maxItems: 20,
            uniqueItems: true,
            description:
              'Further hosts to which links in answers may lead, such as those of publishers. Links to others than these, the hosts above, and those of permissions are left out.',
          }),
        ),
      }),
    ),
  }),
  permissions: Type.Optional(
    Type.Object({
      network: Type.Optional(
        Type.Array(
          Type.Object({
            host: Host,
            methods: Type.Optional(Type.Array(OneOf([...METHODS]), { maxItems: METHODS.length, uniqueItems: true, default: ['GET'] })),
            reason: Text(200),
          }),
          { maxItems: 20 },
        ),
      ),
      /** Members of `config` with URLs that administrators enter, or whose defaults they consent to: the plugin may contact those hosts as well, by GET and POST. */
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
              pattern: CONFIG_KEY,
              maxLength: 64,
              description: 'Instead of host: a member of permissions.networkFromConfig, whose URL administrators enter.',
            }),
          ),
          header: Type.Optional(Type.String({ pattern: HEADER, maxLength: 64 })),
          query: Type.Optional(Type.String({ pattern: FIELD, maxLength: 64, description: 'Instead of header: a query parameter.' })),
          body: Type.Optional(
            Type.String({
              pattern: FIELD,
              maxLength: 64,
              description: 'Instead of header: a member of the body, which must be a form or a JSON object.',
            }),
          ),
          usernameField: Type.Optional(
            Type.String({
              pattern: FIELD,
              maxLength: 64,
              description: 'For basic with query or body: the name for the user name. The other name then contains only the password.',
            }),
          ),
          format: Type.Optional(
            Type.String({
              maxLength: 200,
              pattern: PRINTABLE,
              default: '{token}',
              description: 'Must contain {token}; by default it is only {token}.',
            }),
          ),
        }),
      ),
      oauth2: Type.Optional(
        Type.Object({
          authorizeUrl: Url,
          tokenUrl: Url,
          scopes: Type.Optional(Type.Array(Type.String({ pattern: OAUTH_SCOPE, maxLength: 200 }), { maxItems: 50, uniqueItems: true })),
          pkce: Type.Optional(Type.Boolean({ default: true, description: 'Default true.' })),
        }),
      ),
    }),
  ),
  config: Type.Optional(SchemaOf('JSON Schema of the settings for administrators.')),
  userConfig: Type.Optional(SchemaOf('JSON Schema of the settings for each user.')),
  /** Version of the stored data; when it increases, `migrate` runs before the new version does. */
  dataVersion: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1 })),
  http: Type.Optional(
    Type.Object({
      /** Rates that the terms of each host allow; they can only lower the server's own limit. */
      rateLimit: Type.Optional(
        Type.Record(
          Type.String({ pattern: HOST }),
          Type.Object({
            perMinute: Type.Integer({ minimum: 1, maximum: 300 }),
            burst: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
            maxParallel: Type.Optional(Type.Integer({ minimum: 1, maximum: 6 })),
          }),
          // The hosts of the manifest, and those that administrators enter.
          { maxProperties: 25 },
        ),
      ),
      /** Seconds for which to cache responses to GET, by function. */
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
      heapMB: Type.Optional(Type.Integer({ minimum: 16, maximum: 256, default: DEFAULT_LIMITS.heapMB })),
      cpuMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 5_000, default: DEFAULT_LIMITS.cpuMs })),
      wallMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 60_000, default: DEFAULT_LIMITS.wallMs })),
    }),
  ),
})
export type Manifest = Static<typeof Manifest>

/** The same with the type of its JSON Schema. */
export const MANIFEST_SHAPE = Manifest as Shape
/** Maximum size of a manifest: one with long lists has 10 KB. */
export const MANIFEST_BYTES_MAX = 64 * 1024

/** The addresses of the links that a manifest offers; their placeholders are a part of the path. */
export const linkUrlsOf = ({ webLinks: { book, search, series } = {} }: Manifest['capabilities']): URL[] =>
  [book, search, series].flatMap((template) => (template === undefined ? [] : [new URL(template)]))

/** Paths of the functions that a plugin must define, by its manifest. */
export const methodsOf = ({ capabilities }: Manifest): string[] =>
  Object.entries(capabilities).flatMap(([capability, given]) =>
    ((given as { methods?: string[] } | undefined)?.methods ?? []).map((method) => `${capability}.${method}`),
  )
