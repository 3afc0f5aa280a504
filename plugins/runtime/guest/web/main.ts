import { AbortController, AbortSignal, makeSignal } from './abort.ts'
import { structuredClone } from './clone.ts'
import { DOMException } from './dom-exception.ts'
import { makeResponse, Request, Response, readArguments } from './fetch.ts'
import { FormData } from './form-data.ts'
import { Headers } from './headers.ts'
import { atob, btoa, TextDecoder, TextEncoder } from './text.ts'
import { clearTimeout, queueMicrotask, setTimeout, type Timers, useTimers } from './timers.ts'
import { URL, URLSearchParams } from './url.ts'

/** The part of the web platform that V8 alone lacks and that HTTP libraries need. It is in the realm of the guest, which can harm only itself. */
const GLOBALS = {
  URL,
  URLSearchParams,
  DOMException,
  TextEncoder,
  TextDecoder,
  btoa,
  atob,
  structuredClone,
  setTimeout,
  clearTimeout,
  queueMicrotask,
  AbortSignal,
  AbortController,
  Headers,
  Request,
  Response,
  FormData,
}

/** Adds them to the global object. @returns what the prelude needs of them */
export function installWeb(timers: Timers) {
  useTimers(timers)
  for (const [name, value] of Object.entries(GLOBALS))
    Reflect.defineProperty(globalThis, name, { value, writable: true, configurable: true })
  return { __proto__: null, makeSignal, readArguments, makeResponse }
}
