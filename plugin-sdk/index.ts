import type { Plugin } from './types.ts'

export { AuthError, ConfigError, NotFoundError, PluginError, RateLimitError, UpstreamError } from './errors.ts'
export type * from './types.ts'

/** Says what your plugin answers to: the default export of its bundle. */
export const definePlugin = (plugin: Plugin): Plugin => plugin
