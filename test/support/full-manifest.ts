import type { Manifest } from '#plugins/packages/manifest.ts'

/** With every member that a manifest can have. */
export const FULL_MANIFEST = {
  ...{ manifestVersion: 1, id: 'org.example.full', name: 'Full', version: '1.0.0', summary: 'All of it', description: 'More of it' },
  ...{ author: { name: 'Ada', url: 'https://ada.example/' }, license: 'MIT', homepage: 'https://full.example/' },
  ...{ repository: 'https://code.example/full', engine: { pluginApi: '^1.0' }, main: 'main.js', dataVersion: 3 },
  capabilities: {
    'metadata.series': { methods: ['search', 'get'], idSource: 'anilist', languages: ['en', 'ja'] },
    'metadata.book': { methods: ['get'], idSource: 'books', languages: ['de'] },
    recommendations: { methods: ['get', 'refresh'], scope: 'user', idSource: 'anilist' },
    webLinks: {
      search: 'https://links.example/?q={title}',
      series: 'https://series.example/s/{id}',
      book: 'https://books.example/b/{id}',
      hosts: ['publisher.example', 'shop.example'],
    },
  },
  permissions: {
    network: [
      { host: 'api.example.org', methods: ['GET', 'POST'], reason: 'Searches for books' },
      { host: 'img.example.org', methods: ['GET'], reason: 'Covers' },
    ],
    ...{ networkFromConfig: ['site'], storage: { quotaKB: 7 }, library: ['ratings', 'series.titles'] },
  },
  auth: {
    ...{ type: 'oauth2', scope: 'user', bind: { host: 'api.example.org', header: 'X-Key', format: 'Bearer {token}' } },
    oauth2: {
      authorizeUrl: 'https://login.example.org/in?next=1',
      tokenUrl: 'https://token.example.org/get',
      ...{ scopes: ['read', 'delete'], pkce: true },
    },
  },
  config: {
    type: 'object',
    ...{ title: 'Settings', description: 'Of the site', required: ['site'] },
    properties: {
      site: { type: 'string', title: 'Site', description: 'Its address', default: 'https://site.example', format: 'uri' },
      order: { type: 'string', enum: ['new', 'old'], default: 'new', 'x-ui': { widget: 'radio' } },
    },
  },
  userConfig: {
    type: 'object',
    properties: {
      send: { type: 'boolean', title: 'Send my ratings', default: false },
      mine: { type: 'string', format: 'password', 'x-receives-password': true },
      kept: { type: 'string', format: 'password' },
    },
  },
  http: {
    rateLimit: { 'api.example.org': { perMinute: 11, burst: 5, maxParallel: 2 } },
    cacheTtl: { search: 61, get: 62, match: 63, refresh: 64 },
  },
  limits: { heapMB: 77, cpuMs: 333, wallMs: 4_000 },
} as unknown as Manifest
