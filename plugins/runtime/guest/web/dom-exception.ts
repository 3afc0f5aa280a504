export class DOMException extends Error {
  constructor(message: unknown = '', name: unknown = 'Error') {
    super(message as string)
    Reflect.defineProperty(this, 'name', { value: String(name), configurable: true })
  }
}
