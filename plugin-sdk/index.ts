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
export { externalIdOf } from './external-ids.ts'
export type * from './types.ts'

/**
 * Says what your plugin answers to: the default export of its bundle.
 * @typeParam Config what the administrator can set, as your manifest describes it: `carrel-plugin types` writes it
 * @typeParam UserConfig what a reader can set
 */
export const definePlugin = <Config extends object = AnyConfig, UserConfig extends object = AnyConfig>(
  plugin: Plugin<Config, UserConfig>,
): Plugin<Config, UserConfig> => plugin
