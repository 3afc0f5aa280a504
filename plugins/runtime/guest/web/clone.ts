import { DOMException } from './dom-exception.ts'

const { apply, defineProperty } = Reflect
const Buffer = ArrayBuffer
const { isView } = ArrayBuffer
const kindOf = Object.prototype.toString

const ERRORS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]
const BOXES = ['[object Number]', '[object String]', '[object Boolean]']
const cannot = (what: string) => new DOMException(`${what} cannot be copied.`, 'DataCloneError')

export function structuredClone(value: unknown): unknown {
  return new Cloning().copyOf(value)
}

/** The copies of one value and of what it refers to. */
class Cloning {
  readonly #copies = new Map<object, object>()

  copyOf(one: unknown): unknown {
    if (typeof one === 'function' || typeof one === 'symbol') throw cannot(`A ${typeof one}`)
    if (one === null || typeof one !== 'object') return one
    return this.#copies.get(one) ?? this.#copyOfCollection(one) ?? this.#copyOfBuiltIn(one) ?? this.#copyOfObject(one)
  }

  /** Before its members are copied, which may refer to it. */
  #keep<Copy extends object>(one: object, copy: Copy): Copy {
    this.#copies.set(one, copy)
    return copy
  }

  #copyOfCollection(one: object): object | null {
    if (Array.isArray(one)) {
      const copy = this.#keep<unknown[]>(one, [])
      copy.length = one.length
      return this.#copyMembers(one, copy)
    }
    if (one instanceof Map) {
      const copy = this.#keep(one, new Map())
      for (const [key, member] of [...one]) copy.set(this.copyOf(key), this.copyOf(member))
      return copy
    }
    if (!(one instanceof Set)) return null
    const copy = this.#keep(one, new Set())
    for (const member of [...one]) copy.add(this.copyOf(member))
    return copy
  }

  #copyMembers(one: object, copy: object): object {
    for (const [key, member] of Object.entries(one))
      defineProperty(copy, key, { value: this.copyOf(member), writable: true, enumerable: true, configurable: true })
    return copy
  }

  #copyOfBuiltIn(one: object): object | null {
    if (one instanceof Date) return this.#keep(one, new Date(one.getTime()))
    if (one instanceof RegExp) return this.#keep(one, new RegExp(one.source, one.flags))
    if (one instanceof Buffer) return this.#keep(one, one.slice(0))
    if (isView(one)) {
      const buffer = this.copyOf(one.buffer) as ArrayBuffer
      if (one instanceof DataView) return this.#keep(one, new DataView(buffer, one.byteOffset, one.byteLength))
      const Kind = one.constructor as Uint8ArrayConstructor
      return this.#keep(one, new Kind(buffer, one.byteOffset, (one as Uint8Array).length))
    }
    return one instanceof Error ? this.#copyOfError(one) : null
  }

  #copyOfError(one: Error): Error {
    const Kind = ERRORS.find((candidate) => one instanceof candidate && one.name === candidate.name) ?? Error
    const copy = this.#keep(one, new Kind(String(one.message)))
    defineProperty(copy, 'stack', { value: String(one.stack), writable: true, configurable: true })
    if ('cause' in one) defineProperty(copy, 'cause', { value: this.copyOf(one.cause), writable: true, configurable: true })
    return copy
  }

  #copyOfObject(one: object): object {
    const kind = apply(kindOf, one, [])
    if (BOXES.includes(kind)) return this.#keep(one, Object(one.valueOf()))
    if (one instanceof Promise || one instanceof WeakMap || one instanceof WeakSet || one instanceof WeakRef) throw cannot(kind)
    return this.#copyMembers(one, this.#keep(one, {}))
  }
}
