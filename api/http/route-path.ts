/** The last part of a path may be `:name*`: it matches the rest of the address, slashes included. */
const REST = /:(\w+)\*$/

/** A path in the router's syntax. */
export const routerPath = (path: string): string => path.replace(REST, '*')

/** A path in OpenAPI's syntax. */
export const describedPath = (path: string): string => path.replace(/:(\w+)\*?/g, '{$1}')

/** Returns a function that renames the parameters from the router as the path names them. */
export function parameterReader(path: string): (found: Record<string, string>) => Record<string, string> {
  const name = REST.exec(path)?.[1]
  if (name === undefined) return (found) => found
  return ({ '*': rest = '', ...others }) => ({ ...others, [name]: rest })
}
