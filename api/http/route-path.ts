/** The last part of a path may be `:name*`: it takes all that is left of an address, slashes included. */
const REST = /:(\w+)\*$/

/** A path as the router takes it. */
export const routerPath = (path: string): string => path.replace(REST, '*')

/** A path as OpenAPI writes it. */
export const describedPath = (path: string): string => path.replace(/:(\w+)\*?/g, '{$1}')

/** How the parameters that the router found are named by the path that it was given. */
export function parameterReader(path: string): (found: Record<string, string>) => Record<string, string> {
  const name = REST.exec(path)?.[1]
  if (name === undefined) return (found) => found
  return ({ '*': rest = '', ...others }) => ({ ...others, [name]: rest })
}
