/** What the tests of one process say about each of its files, in the order in which they run: the tests of a file come after its name. */
export class FileResults {
  readonly #files: readonly string[]
  readonly #failed = new Set<string>()
  #at = 0

  constructor(files: readonly string[]) {
    this.#files = files
  }

  note(name: string, isOk: boolean): void {
    const at = this.#files.indexOf(name)
    if (at !== -1) this.#at = at
    if (!isOk) this.#failed.add(this.#files[this.#at] as string)
  }

  /** The files that failed or never ran. @param hasFailed the process ended with an error or by a signal */
  listFailed(hasFailed: boolean): string[] {
    if (!hasFailed) return []
    const left = this.#files.slice(this.#at + 1)
    // It broke off, or failed after its last test.
    if (left.length > 0 || this.#failed.size === 0) this.#failed.add(this.#files[this.#at] as string)
    return [...this.#failed, ...left]
  }
}
