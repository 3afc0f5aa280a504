import type { AnyConfig, Plugin } from './types.ts'

export {
  AuthError,
  ConfigError,
  type ErrorCode,
  hasCode,
  NotFoundError,
  PluginError,
  RateLimitError,
  UpstreamError,
} from './errors.ts'
export type * from './types.ts'

/**
 * Says what your plugin answers to: the default export of its bundle.
 * @typeParam Config what the administrator can set, as your manifest describes it
 */
export const definePlugin = <Config extends object = AnyConfig>(plugin: Plugin<Config>): Plugin<Config> => plugin
