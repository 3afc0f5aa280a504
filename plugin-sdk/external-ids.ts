/**
 * The identifier that the library has at a service, undefined where it has none.
 * @param ids `externalIds` as the server gives them: keyed by `plugin:` and the name where a plugin for the service is installed, else by the name as it
 * was entered, with `api:` in front where a client of another server has entered it
 * @param names of the service; the first under which there is an identifier counts
 */
export function externalIdOf(ids: Readonly<Record<string, string>> | undefined, ...names: string[]): string | undefined {
  const keys = names.flatMap((name) => [`plugin:${name}`, name, `api:${name}`])
  const key = keys.find((one) => ids !== undefined && Object.hasOwn(ids, one))
  return key === undefined ? undefined : ids?.[key]
}
