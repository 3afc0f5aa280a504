/** Built-in functions as they are before any code of a guest runs, which may replace them. */
export const { parse, stringify } = JSON
export const { apply, construct, deleteProperty, defineProperty, ownKeys } = Reflect
export const { freeze, create, setPrototypeOf } = Object
export const { isArray } = Array
export const { iterator } = Symbol
export const GuestPromise = Promise
export const GuestError = Error
export const NativeBuffer = ArrayBuffer
export const NativeTypeError = TypeError
export const NativeRangeError = RangeError
export const toText = String
export const objectToString = Object.prototype.toString

const promiseThen = Promise.prototype.then
const promiseResolve = Promise.resolve
const stringSlice = String.prototype.slice
const stringIndexOf = String.prototype.indexOf
const stringSplit = String.prototype.split

export const slice = (text: string, from: number, to?: number): string => apply(stringSlice, text, [from, to])
export const indexOf = (text: string, wanted: string): number => apply(stringIndexOf, text, [wanted])
export const split = (text: string, separator: string): string[] => apply(stringSplit, text, [separator])
export const textOr = <Other>(value: unknown, other: Other): string | Other => (typeof value === 'string' ? value : other)

/** Of a stack: its first lines are those of the prelude and of the code that called it. */
const STACK_LENGTH_MAX = 1_024

export function stackOf(error: Error): string {
  try {
    return slice(textOr(error.stack, ''), 0, STACK_LENGTH_MAX)
  } catch {
    // Code of the guest can make stacks unreadable.
    return ''
  }
}

type Take = (value: unknown) => void

/** As `promise.then`. @param promise may be a value, or another kind of promise */
export function settle(promise: unknown, resolve: Take, reject: Take): void {
  apply(promiseThen, apply(promiseResolve, GuestPromise, [promise]), [resolve, reject])
}

/** An object without a prototype that cannot change. In a literal, `__proto__: null` makes a slower object; there are eight in every call. */
export const table = <Members extends object>(members: Members): Readonly<Members> => freeze(setPrototypeOf(members, null))
