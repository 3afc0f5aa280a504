import t from 'tap'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { manifestOf } from '#test/support/plugins.ts'

/** What a person writes instead, as members of a valid manifest or as the whole text, and all that they read then. */
const MISTAKES: [name: string, given: Record<string, unknown> | string, message: string][] = [
  [
    'not JSON',
    '{ "manifestVersion": 1, }',
    'manifest.json: it is not valid JSON (Expected double-quoted property name in JSON at position 24 (line 1 column 25)); JSON has no comments, and no comma after the last member.',
  ],
  [
    'a comment',
    '{\n  // Mine\n  "manifestVersion": 1\n}',
    "manifest.json: it is not valid JSON (Expected property name or '}' in JSON at position 4 (line 2 column 3)); JSON has no comments, and no comma after the last member.",
  ],
  [
    'storage as a number',
    { permissions: { storage: 256 } },
    'manifest.json at /permissions/storage: must be an object with quotaKB; it is 256.',
  ],
  ['empty', '', 'manifest.json: it is not valid JSON (Unexpected end of JSON input).'],
  [
    'a list',
    '[]',
    'manifest.json: must be an object with manifestVersion, id, name, version, summary, engine, capabilities, and perhaps description, author, license, homepage, repository, main, permissions, auth, config, userConfig, dataVersion, http, limits; it is [].',
  ],
  ['a member twice', '{ "id": "a.b", "id": "a.c" }', 'manifest.json: it has the member "id" twice.'],
  [
    'no version beside permissions',
    { version: undefined, permissions: {} },
    'manifest.json: it has no version, which must be a semantic version such as 1.4.0 or 1.4.0-beta.1.',
  ],
  [
    'no name and no engine',
    { name: undefined, engine: undefined },
    'manifest.json: it has no name, which must be one line of 1 to 60 readable characters; it has no engine, which must be an object with pluginApi.',
  ],
  ['a misspelled required member', { sumary: 'x', summary: undefined }, 'manifest.json: it has no summary; "sumary" may be a misspelling.'],
  ['another manifest version', { manifestVersion: '1' }, 'manifest.json at /manifestVersion: must be 1; it is "1".'],
  [
    'id of one word',
    { id: 'myplugin' },
    'manifest.json at /id: must be at least two words of lower-case ASCII letters and digits, with a dot or hyphen between them, such as org.example.anilist; it is "myplugin".',
  ],
  [
    'id with an underscore',
    { id: 'org.my_plugin' },
    'manifest.json at /id: must be at least two words of lower-case ASCII letters and digits, with a dot or hyphen between them, such as org.example.anilist; it is "org.my_plugin".',
  ],
  [
    'version with two numbers',
    { version: '1.0' },
    'manifest.json at /version: must be a semantic version such as 1.4.0 or 1.4.0-beta.1; it is "1.0".',
  ],
  [
    'engine of another generation',
    { engine: { pluginApi: '^2.0' } },
    'manifest.json at /engine/pluginApi: must be ^1.0: this version of Carrel has plugin API 1.0; it is "^2.0".',
  ],
  [
    'newer engine',
    { engine: { pluginApi: '^1.3' } },
    'manifest.json at /engine/pluginApi: this version of Carrel has plugin API 1.0; the plugin needs a newer one.',
  ],
  ['engine as a text', { engine: '^1.0' }, 'manifest.json at /engine: must be an object with pluginApi; it is "^1.0".'],
  [
    'engine of npm',
    { engine: { node: '>=20' } },
    'manifest.json at /engine: it has no pluginApi, which must be ^1.0: this version of Carrel has plugin API 1.0.',
  ],
  [
    'long name',
    { name: 'A name that goes on and on until nobody remembers how it began' },
    'manifest.json at /name: must be one line of 1 to 60 readable characters; it is "A name that goes on and on until nobody remembers how it be…; it has 62 characters.',
  ],
  [
    'name with a space at its end',
    { name: 'Echo ' },
    'manifest.json at /name: must be one line of 1 to 60 readable characters; it is "Echo "; it begins or ends with a space.',
  ],
  [
    'name with a direction mark',
    { name: 'Echo ‮gnp' },
    'manifest.json at /name: must be one line of 1 to 60 readable characters; it is "Echo \\u202egnp"; it contains \\u202e, which cannot be seen, or changes how other characters are shown.',
  ],
  [
    'summary of two lines',
    { summary: 'One\nTwo' },
    'manifest.json at /summary: must be one line of 1 to 120 readable characters; it is "One\\nTwo"; it has several lines.',
  ],
  ['author as a text', { author: 'Ada' }, 'manifest.json at /author: must be an object with name, and perhaps url; it is "Ada".'],
  [
    'homepage without https',
    { homepage: 'http://example.org' },
    'manifest.json at /homepage: must be an https URL without credentials, percent-encoded where needed; it is "http://example.org".',
  ],
  ['main of the sources', { main: 'src/main.ts' }, 'manifest.json at /main: "src/main.ts" is not allowed; it must be "main.js".'],
  [
    'no capability',
    { capabilities: {} },
    'manifest.json at /capabilities: a plugin has at least one of metadata.series, metadata.book, recommendations, webLinks.',
  ],
  [
    'capability of one word',
    { capabilities: { metadata: { methods: ['get'] } } },
    'manifest.json at /capabilities/metadata: this version of Carrel does not know that capability (a newer one may); it must be one of metadata.series, metadata.book, recommendations, webLinks.',
  ],
  [
    'planned capability',
    { capabilities: { sync: {} } },
    'manifest.json at /capabilities/sync: this name is reserved for a later version of the interface; it must be one of metadata.series, metadata.book, recommendations, webLinks.',
  ],
  [
    'a method that does not exist',
    { capabilities: { 'metadata.series': { methods: ['fetch'] } } },
    'manifest.json at /capabilities/metadata.series/methods/0: "fetch" is not allowed; it must be one of search, get, match.',
  ],
  [
    'misspelled method',
    { capabilities: { 'metadata.series': { methods: ['serach'] } } },
    'manifest.json at /capabilities/metadata.series/methods/0: "serach" is not allowed; it must be one of search, get, match (did you mean search?).',
  ],
  [
    'methods as a text',
    { capabilities: { 'metadata.series': { methods: 'search' } } },
    'manifest.json at /capabilities/metadata.series/methods: must be a list of 1 to 3, none twice, each of them one of search, get, match; it is "search".',
  ],
  [
    'capability as a list',
    { capabilities: { 'metadata.series': ['search'] } },
    'manifest.json at /capabilities/metadata.series: must be an object with methods, and perhaps idSource, languages; it is ["search"].',
  ],
  [
    'no methods',
    { capabilities: { 'metadata.series': {} } },
    'manifest.json at /capabilities/metadata.series: it has no methods, which must be a list of 1 to 3, none twice, each of them one of search, get, match.',
  ],
  [
    'language in words',
    { capabilities: { 'metadata.series': { methods: ['get'], languages: ['en_US'] } } },
    'manifest.json at /capabilities/metadata.series/languages/0: must be a language such as en or pt-BR; it is "en_US".',
  ],
  [
    'link without a placeholder',
    { capabilities: { webLinks: { series: 'https://example.org/s' } } },
    'manifest.json at /capabilities/webLinks/series: must be an https URL that contains {title} or {id} once, after its host; it is "https://example.org/s".',
  ],
  [
    'host of this machine',
    { permissions: { network: [{ host: 'localhost:8600', reason: 'The service' }] } },
    'manifest.json at /permissions/network/0/host: must be a lower-case host name with a dot, without scheme, port or path, such as api.example.org, or *.example.org for all names below it; it is "localhost:8600". For a service on this machine or its network, let administrators enter its address: a member of config that permissions.networkFromConfig names.',
  ],
  [
    'IP address',
    { permissions: { network: [{ host: '192.168.1.5', reason: 'The service' }] } },
    'manifest.json at /permissions/network/0/host: must be a lower-case host name with a dot, without scheme, port or path, such as api.example.org, or *.example.org for all names below it; it is "192.168.1.5". For a service on this machine or its network, let administrators enter its address: a member of config that permissions.networkFromConfig names.',
  ],
  [
    'host with scheme and path',
    { permissions: { network: [{ host: 'https://api.example.org/v1', reason: 'The service' }] } },
    'manifest.json at /permissions/network/0/host: must be a lower-case host name with a dot, without scheme, port or path, such as api.example.org, or *.example.org for all names below it; it is "https://api.example.org/v1"; write api.example.org.',
  ],
  [
    'host with capitals',
    { permissions: { network: [{ host: 'API.Example.org', reason: 'The service' }] } },
    'manifest.json at /permissions/network/0/host: must be a lower-case host name with a dot, without scheme, port or path, such as api.example.org, or *.example.org for all names below it; it is "API.Example.org"; write api.example.org.',
  ],
  [
    'wildcard of a whole domain',
    { permissions: { network: [{ host: '*.org', reason: 'The service' }] } },
    'manifest.json at /permissions/network/0/host: must be a lower-case host name with a dot, without scheme, port or path, such as api.example.org, or *.example.org for all names below it; it is "*.org".',
  ],
  [
    'host twice',
    {
      permissions: {
        network: [
          { host: 'a.example.org', reason: 'x' },
          { host: 'a.example.org', reason: 'x' },
        ],
      },
    },
    'manifest.json at /permissions/network/1/host: a.example.org occurs twice; list all its methods in one entry.',
  ],
  [
    'hosts as texts',
    { permissions: { network: ['a.example.org'] } },
    'manifest.json at /permissions/network/0: must be an object with host, reason, and perhaps methods; it is "a.example.org".',
  ],
  [
    'HTTP method in small letters',
    { permissions: { network: [{ host: 'a.example.org', reason: 'The service', methods: ['get'] }] } },
    'manifest.json at /permissions/network/0/methods/0: "get" is not allowed; it must be one of GET, POST, PUT, PATCH, DELETE, HEAD (did you mean GET?).',
  ],
  [
    'HTTP method that does not exist',
    { permissions: { network: [{ host: 'a.example.org', reason: 'The service', methods: ['FETCH'] }] } },
    'manifest.json at /permissions/network/0/methods/0: "FETCH" is not allowed; it must be one of GET, POST, PUT, PATCH, DELETE, HEAD.',
  ],
  [
    'quota as a text',
    { permissions: { storage: { quotaKB: '64' } } },
    'manifest.json at /permissions/storage/quotaKB: must be a whole number from 1 to 20480; it is "64".',
  ],
  [
    'misspelled quota',
    { permissions: { storage: { quotaKb: 64 } } },
    'manifest.json at /permissions/storage: it has no quotaKB; "quotaKb" may be a misspelling.',
  ],
  [
    'library scope that does not exist',
    { permissions: { library: ['series'] } },
    'manifest.json at /permissions/library/0: "series" is not allowed; it must be one of series.titles, series.metadata, series.externalIds, reading.progress, ratings.',
  ],
  [
    'library scope misspelled',
    { permissions: { library: ['rating'] } },
    'manifest.json at /permissions/library/0: "rating" is not allowed; it must be one of series.titles, series.metadata, series.externalIds, reading.progress, ratings (did you mean ratings?).',
  ],
  [
    'unknown permission',
    { permissions: { filesystem: {} } },
    'manifest.json at /permissions/filesystem: this version of Carrel does not know that permission (a newer one may); it must be one of network, networkFromConfig, storage, library.',
  ],
  [
    'permission of another place',
    { permissions: { rateLimit: {} } },
    'manifest.json at /permissions/rateLimit: this version of Carrel does not know that permission (a newer one may); it must be one of network, networkFromConfig, storage, library; there is one at /http/rateLimit.',
  ],
  [
    'configured host without a member',
    { permissions: { networkFromConfig: ['site'] } },
    'manifest.json at /permissions/networkFromConfig/0: site is not a member of /config/properties; add it there as a text, in which administrators enter the URL.',
  ],
  [
    'configured host as a number',
    { permissions: { networkFromConfig: ['site'] }, config: { type: 'object', properties: { site: { type: 'number' } } } },
    'manifest.json at /config/properties/site/type: it contains the URL of one host, so it must be string.',
  ],
  [
    'configured host with a wrong default',
    {
      permissions: { networkFromConfig: ['site'] },
      config: { type: 'object', properties: { site: { type: 'string', default: 'localhost' } } },
    },
    'manifest.json at /config/properties/site/default: consent shows the host that it names, so it must be a URL such as https://api.example.org, without credentials and wildcards, whose scheme and host have at most 90 characters.',
  ],
  [
    'auth without bind',
    { auth: { type: 'apiKey', scope: 'server' } },
    'manifest.json at /auth: bind must say where the credentials go: host or hostFrom, and header, query or body.',
  ],
  [
    'auth of another type',
    { auth: { type: 'bearer', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization' } } },
    'manifest.json at /auth/type: "bearer" is not allowed; it must be one of none, apiKey, basic, oauth2.',
  ],
  [
    'auth without scope',
    { auth: { type: 'apiKey', bind: { host: 'api.example.org', header: 'Authorization' } } },
    'manifest.json at /auth: it has no scope, which must be one of user, server.',
  ],
  [
    'auth to another host',
    { auth: { type: 'apiKey', scope: 'server', bind: { host: 'img.example.org', header: 'Authorization' } } },
    'manifest.json at /auth/bind/host: credentials go only to a host of /permissions/network, and img.example.org is none; add it there, or use api.example.org.',
  ],
  [
    'auth without a place',
    { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org' } } },
    'manifest.json at /auth/bind: exactly one of header, query and body must name the place of the credentials in requests; it has none.',
  ],
  [
    'auth with two places',
    { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization', query: 'key' } } },
    'manifest.json at /auth/bind: exactly one of header, query and body must name the place of the credentials in requests; it has header and query.',
  ],
  [
    'auth format without token',
    { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization', format: 'Bearer token' } } },
    'manifest.json at /auth/bind/format: it must contain {token} once, which the server replaces by the credentials.',
  ],
  [
    'auth into a forbidden header',
    { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Host' } } },
    'manifest.json at /auth/bind/header: credentials cannot go into Host.',
  ],
  [
    'header with a colon',
    { auth: { type: 'apiKey', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization:' } } },
    'manifest.json at /auth/bind/header: must be the name of a header, such as Authorization; it is "Authorization:".',
  ],
  [
    'auth for users without recommendations',
    { auth: { type: 'apiKey', scope: 'user', bind: { host: 'api.example.org', header: 'Authorization' } } },
    'manifest.json at /auth/scope: only recommendations run for a user; metadata requests use credentials of the server.',
  ],
  [
    'oauth2 without addresses',
    { auth: { type: 'oauth2', scope: 'server', bind: { host: 'api.example.org', header: 'Authorization' } } },
    'manifest.json at /auth/oauth2: type oauth2 needs it, with authorizeUrl and tokenUrl.',
  ],
  [
    'addresses of oauth2 for a key',
    {
      auth: {
        type: 'apiKey',
        scope: 'server',
        bind: { host: 'api.example.org', header: 'Authorization' },
        oauth2: { authorizeUrl: 'https://a.example.org/', tokenUrl: 'https://a.example.org/' },
      },
    },
    'manifest.json at /auth/oauth2: it is only for type oauth2; the type is apiKey.',
  ],
  [
    'config without properties',
    { config: { type: 'object' } },
    'manifest.json at /config: it has no properties, which must be an object; each name in it must be letters, digits and underscores, a letter first.',
  ],
  [
    'config of members alone',
    { config: { site: { type: 'string' } } },
    'manifest.json at /config: it has no type, which must be "object"; it has no properties, which must be an object; each name in it must be letters, digits and underscores, a letter first.',
  ],
  [
    'config member of an unknown type',
    { config: { type: 'object', properties: { site: { type: 'text' } } } },
    'manifest.json at /config/properties/site/type: "text" is not allowed; it must be one of string, number, integer, boolean, array; settings support only a subset of JSON Schema.',
  ],
  [
    'config member without type',
    { config: { type: 'object', properties: { site: { title: 'Site' } } } },
    'manifest.json at /config/properties/site: it has no type, which must be one of string, number, integer, boolean, or "array".',
  ],
  [
    'config member with a pattern',
    { config: { type: 'object', properties: { site: { type: 'string', pattern: '^a' } } } },
    'manifest.json at /config/properties/site/pattern: pattern is not allowed here; it must be one of type, title, description, enum, minimum, maximum, minLength, maxLength, format, x-receives-password, default, x-ui; settings support only a subset of JSON Schema.',
  ],
  [
    'config default of another type',
    { config: { type: 'object', properties: { site: { type: 'integer', default: 'ten' } } } },
    'manifest.json at /config/properties/site/default: "ten" is not a valid value of the member; it must be a whole number.',
  ],
  [
    'config default outside of enum',
    { config: { type: 'object', properties: { site: { type: 'string', enum: ['a', 'b'], default: 'c' } } } },
    'manifest.json at /config/properties/site/default: "c" is not a valid value of the member; it must be one of a, b.',
  ],
  [
    'config requires a member that does not exist',
    { config: { type: 'object', properties: { site: { type: 'string' } }, required: ['sit'] } },
    'manifest.json at /config/required: it names sit, which is not among the properties; it must be site.',
  ],
  [
    'config with a token as plain text',
    { config: { type: 'object', properties: { apiToken: { type: 'string' } } } },
    'manifest.json at /config/properties/apiToken: its name says that it is a secret; give it format password, then it is stored encrypted and never returned.',
  ],
  [
    'config password with a default',
    { config: { type: 'object', properties: { site: { type: 'string', format: 'password', default: 'x' } } } },
    'manifest.json at /config/properties/site: a password has no default and no enum, which everybody could read.',
  ],
  [
    'name of a config member',
    { config: { type: 'object', properties: { 'my-site': { type: 'string' } } } },
    'manifest.json at /config/properties/my-site: my-site is no name of a setting; it must be letters, digits and underscores, a letter first.',
  ],
  [
    'rate of another host',
    { http: { rateLimit: { 'api.example.com': { perMinute: 5 } } } },
    'manifest.json at /http/rateLimit/api.example.com: it is not a host of /permissions/network; add it there, or use api.example.org.',
  ],
  [
    'rate without a number',
    { http: { rateLimit: { 'api.example.org': {} } } },
    'manifest.json at /http/rateLimit/api.example.org: it has no perMinute, which must be a whole number from 1 to 300.',
  ],
  [
    'cacheTtl as a number',
    { http: { cacheTtl: 60 } },
    'manifest.json at /http/cacheTtl: must be an object, which may have search, get, match, refresh; it is 60.',
  ],
  ['time in seconds', { limits: { wallMs: 20 } }, 'manifest.json at /limits/wallMs: must be a whole number from 1000 to 60000; it is 20.'],
]

t.test('every mistake in a manifest has a message that says what is wrong, with what, and what to do', (t) => {
  for (const [name, given, message] of MISTAKES) {
    const text = typeof given === 'string' ? given : JSON.stringify({ ...manifestOf(), ...given })
    t.throws(() => readManifest(Buffer.from(text)), { message }, name)
  }
  t.end()
})
