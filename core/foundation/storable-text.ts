/** A text that PostgreSQL can store: without the NUL character and unpaired surrogates, which names in archives may contain. */
export const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\uFFFD')

/** Makes the texts of a JSON value storable; for `JSON.stringify`. */
export const storableMember = (_key: string, value: unknown) => (typeof value === 'string' ? storable(value) : value)
