/** A text that PostgreSQL can store: without the NUL character and halves of surrogate pairs, which names in archives do contain. */
export const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\uFFFD')

/** Makes the texts of a JSON value storable; for `JSON.stringify`. */
export const storableMember = (_key: string, value: unknown) => (typeof value === 'string' ? storable(value) : value)
