type Field = [name: string, value: string]

/** Text fields only; there are no files. */
export class FormData {
  #fields: Field[] = []

  append(name: unknown, value: unknown): void {
    this.#fields.push([`${name}`, `${value}`])
  }

  delete(name: unknown): void {
    this.#fields = this.#fields.filter(([one]) => one !== `${name}`)
  }

  get(name: unknown): string | null {
    return this.getAll(name)[0] ?? null
  }

  getAll(name: unknown): string[] {
    return this.#fields.filter(([one]) => one === `${name}`).map(([, value]) => value)
  }

  has(name: unknown): boolean {
    return this.getAll(name).length > 0
  }

  set(name: unknown, value: unknown): void {
    const at = this.#fields.findIndex(([one]) => one === `${name}`)
    this.delete(name)
    this.#fields.splice(at < 0 ? this.#fields.length : at, 0, [`${name}`, `${value}`])
  }

  forEach(run: (value: string, name: string, all: this) => void, self?: unknown): void {
    for (const [name, value] of this) run.call(self, value, name, this)
  }

  *entries(): Generator<Field> {
    for (const [name, value] of this.#fields) yield [name, value]
  }

  *keys(): Generator<string> {
    for (const [name] of this.#fields) yield name
  }

  *values(): Generator<string> {
    for (const [, value] of this.#fields) yield value
  }

  [Symbol.iterator](): Generator<Field> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'FormData'
  }
}

const escapeName = (name: string): string => name.replace(/\r?\n|\r/g, '%0D%0A').replaceAll('"', '%22')

/** A form as the body of a request, and its Content-Type. */
export function formText(form: FormData): { text: string; type: string } {
  let boundary = '----form'
  while (boundary.length < 40) boundary += Math.random().toString(36).slice(2)
  let text = ''
  for (const [name, value] of form)
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"\r\n\r\n${value.replace(/\r?\n|\r/g, '\r\n')}\r\n`
  return { text: `${text}--${boundary}--\r\n`, type: `multipart/form-data; boundary=${boundary}` }
}
