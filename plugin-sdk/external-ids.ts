/**
 * The identifier recorded for a service, or undefined.
 * @param ids `externalIds` from the server: with the key `plugin:` and the name if a plugin for the service is installed, otherwise with the name as it
 * was entered, with the prefix `api:` if a client of another server entered it
 * @param names of the service; the first with an identifier is used
 */
export function externalIdOf(ids: Readonly<Record<string, string>> | undefined, ...names: string[]): string | undefined {
  const keys = names.flatMap((name) => [`plugin:${name}`, name, `api:${name}`])
  const key = keys.find((one) => ids !== undefined && Object.hasOwn(ids, one))
  return key === undefined ? undefined : ids?.[key]
}
