const LOOK = ['view', 'size', 'sort', 'columns'] as const

const keyOf = (scope: string) => `carrel.browse.${scope}`

/** Each list remembers how it was shown. What the address says comes first. */
export function withKeptLook(scope: string, search: string): string {
  const said = new URLSearchParams(search)
  const kept = new URLSearchParams(read(scope))
  for (const name of LOOK) {
    const value = kept.get(name)
    if (value !== null && !said.has(name)) said.set(name, value)
  }
  return said.toString()
}

export function keepLook(scope: string, changed: Readonly<Record<string, string | null>>): void {
  const kept = new URLSearchParams(read(scope))
  for (const name of LOOK) {
    const value = changed[name]
    if (value) kept.set(name, value)
    // The usual columns are no value of the address.
    else if (value === null) kept.delete(name)
  }
  try {
    localStorage.setItem(keyOf(scope), kept.toString())
  } catch {
    // The browser refuses storage: the list begins as it usually looks.
  }
}

function read(scope: string): string {
  try {
    return localStorage.getItem(keyOf(scope)) ?? ''
  } catch {
    return ''
  }
}
