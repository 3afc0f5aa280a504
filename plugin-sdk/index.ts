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
 * Defines the functions of your plugin: the default export of its bundle.
 * @typeParam Config settings of the administrator, as your manifest describes them: `carrel-plugin types` writes this type
 * @typeParam UserConfig settings of a user
 */
export const definePlugin = <Config extends object = AnyConfig, UserConfig extends object = AnyConfig>(
  plugin: Plugin<Config, UserConfig>,
): Plugin<Config, UserConfig> => plugin
