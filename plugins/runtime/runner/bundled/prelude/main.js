// biome-ignore-all lint: built from its sources
// biome-ignore-all format: built from its sources
// biome-ignore-all assist: built from its sources
;(function (module) {
"use strict";
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// prelude.ts
var prelude_exports = {};
__export(prelude_exports, {
  start: () => start2
});
module.exports = __toCommonJS(prelude_exports);

// built-ins.ts
var { parse, stringify } = JSON;
var { apply, construct, deleteProperty, defineProperty, ownKeys } = Reflect;
var { freeze, create, setPrototypeOf } = Object;
var { isArray } = Array;
var { iterator } = Symbol;
var GuestPromise = Promise;
var GuestError = Error;
var NativeBuffer = ArrayBuffer;
var NativeTypeError = TypeError;
var NativeRangeError = RangeError;
var toText = String;
var objectToString = Object.prototype.toString;
var promiseThen = Promise.prototype.then;
var promiseResolve = Promise.resolve;
var stringSlice = String.prototype.slice;
var stringIndexOf = String.prototype.indexOf;
var stringSplit = String.prototype.split;
var slice = (text, from, to) => apply(stringSlice, text, [from, to]);
var indexOf = (text, wanted) => apply(stringIndexOf, text, [wanted]);
var split = (text, separator) => apply(stringSplit, text, [separator]);
var textOr = (value, other) => typeof value === "string" ? value : other;
var STACK_LENGTH_MAX = 1024;
function stackOf(error) {
  try {
    return slice(textOr(error.stack, ""), 0, STACK_LENGTH_MAX);
  } catch {
    return "";
  }
}
function settle(promise, resolve, reject) {
  apply(promiseThen, apply(promiseResolve, GuestPromise, [promise]), [resolve, reject]);
}
var table = (members) => freeze(setPrototypeOf(members, null));

// channel.ts
var post;
var limits;
function openChannel(send, limitsText) {
  post = send;
  limits = parse(limitsText);
}

// call.ts
var calls = {
  live: 0,
  /** The call to which the running code belongs: that of the last entry, because jobs of an entry run before the next entry. */
  current: null
};

// timers.ts
var TIMERS_MAX = 16;
var timers = create(null);
var live = 0;
var last = 0;
function setTimer(run, ms, isDeadline = false) {
  const call = calls.current;
  if (calls.live === 0 || call === null) throw new GuestError("Timers are available only during a call.");
  if (live >= TIMERS_MAX) throw new NativeRangeError(`At most ${TIMERS_MAX} timers may be pending at a time.`);
  const id = ++last;
  const caller = new GuestError();
  timers[id] = { run, call, caller };
  live += 1;
  if (limits.isTraced && !isDeadline) post("timer", id, toText(ms), call.id, stackOf(caller));
  else post("timer", id, toText(ms), call.id);
  return id;
}
function waitingTimer(callId) {
  for (const id in timers) {
    const { call, caller } = timers[id];
    if (call.id === callId) return `a timer
${stackOf(caller)}`;
  }
  return null;
}
function clearTimer(id) {
  if (timers[id] === void 0) return;
  delete timers[id];
  live -= 1;
  post("untimer", id, "");
}
function runTimer(id) {
  const timer = timers[id];
  if (timer === void 0) return;
  const { run, call } = timer;
  delete timers[id];
  live -= 1;
  calls.current = call;
  try {
    run();
  } catch (error) {
    call.fail(error);
  }
}
function clearTimers() {
  for (const id in timers) delete timers[id];
  live = 0;
}

// host-calls.ts
var pending = create(null);
var lastId = 0;
function problem(code, message, retryAfterSeconds) {
  const error = new GuestError(message);
  error.code = code;
  if (typeof retryAfterSeconds === "number") error.retryAfterSeconds = retryAfterSeconds;
  return error;
}
var closedProblem = () => problem("closed", "The call has ended.");
function ask(call, kind, payload) {
  return new GuestPromise((resolve, reject) => {
    if (call.ended) return reject(closedProblem());
    call.requests += 1;
    if (call.requests > limits.hostCalls)
      return reject(problem("limit", `A call may make at most ${limits.hostCalls} requests to the server.`));
    let text;
    try {
      text = stringify({ __proto__: null, payload });
    } catch {
      return reject(
        problem(
          "invalid_argument",
          `The arguments of ctx.${kind} must be plain JSON: without BigInt, and without an object that contains itself.`
        )
      );
    }
    const lengthMax = limits.requestLengths[kind];
    if (text.length > lengthMax)
      return reject(problem("invalid_argument", `The value sent to the server has ${text.length} characters; the limit is ${lengthMax}.`));
    const request = { kind, text, call, resolve, reject, next: null, caller: new GuestError() };
    if (call.running < limits.inFlight) return start(request);
    if (call.last === null) call.first = request;
    else call.last.next = request;
    call.last = request;
  });
}
function start(request) {
  const id = ++lastId;
  request.call.running += 1;
  pending[id] = request;
  post("host", id, request.text, request.call.id, request.kind);
}
function receiveReply(id, outcome, text) {
  const request = pending[id];
  if (request === void 0) return;
  delete pending[id];
  const { call } = request;
  call.running -= 1;
  calls.current = call;
  const next = call.first;
  if (next !== null) {
    call.first = next.next;
    if (call.first === null) call.last = null;
    start(next);
  }
  const answer = parse(text);
  if (outcome === "ok") request.resolve(answer);
  else request.reject(withStackOf(request.caller, problem(answer.code, answer.message)));
  if (call.end !== null && !isWaiting(call)) call.end();
}
var LAST_ANSWERS_MS = 1e3;
function isWaiting(call) {
  for (const id in pending) if (pending[id].call === call && pending[id].kind !== "sleep") return true;
  return false;
}
function endAfterRequests(call, end) {
  const isLater = limits.isTraced && isWaiting(call);
  if (isLater) call.end = end;
  try {
    if (isLater) setTimer(end, LAST_ANSWERS_MS, true);
    else end();
  } catch {
    end();
  }
}
function waitingRequest(callId) {
  const id = oldestRequest(callId);
  if (id === null) return null;
  const { kind, caller } = pending[id];
  return `${kind}
${stackOf(caller)}`;
}
function oldestRequest(callId) {
  for (const id in pending) if (pending[id].call.id === callId) return +id;
  return null;
}
function withStackOf(caller, error) {
  try {
    const stack = textOr(caller.stack, "");
    const at = indexOf(stack, "\n");
    if (at !== -1) error.stack = `Error: ${error.message}${slice(stack, at)}`;
  } catch {
  }
  return error;
}
function tell(call, kind, payload) {
  if (!call.ended) post(kind, call.id, stringify({ __proto__: null, ...payload }));
}

// answers.ts
var MESSAGE_LENGTH_MAX = 4096;
var STACK_LENGTH_MAX2 = 8192;
var CODE_LENGTH_MAX = 64;
function sendResult(id, value) {
  let text;
  try {
    text = stringify(value);
  } catch (error) {
    return sendFailure(id, error, "invalid_result", "The answer is not plain JSON: ");
  }
  const result = textOr(text, "null");
  if (result.length > limits.resultLength)
    return sendProblem(id, {
      code: "invalid_result",
      message: `The result has ${result.length} characters; the limit is ${limits.resultLength}.`
    });
  const unawaited = oldestRequest(id);
  if (unawaited === null) post("done", id, result);
  else post("done", id, result, unawaited, waitingRequest(id) ?? "");
}
function sendFailure(id, error, code, begin = "") {
  let name = "Error";
  let message = "";
  let stack = "";
  let own = null;
  let wait = null;
  try {
    if (error !== null && typeof error === "object") {
      const thrown = error;
      name = textOr(thrown["name"], name);
      message = textOr(thrown["message"], message);
      stack = textOr(thrown["stack"], stack);
      own = textOr(thrown["code"], own);
      const seconds = thrown["retryAfterSeconds"];
      if (typeof seconds === "number" && seconds > 0 && seconds < 1e9) wait = seconds;
    } else message = textOr(error, message);
  } catch {
    message = "The code threw an unreadable error.";
  }
  if (message === "") message = name === "Error" ? "The code threw a value that is not an error." : name;
  sendProblem(id, { code, message: begin + message, own, stack, wait });
}
function sendProblem(id, { code, message, own = null, stack = "", wait = null }) {
  const text = stringify({
    // Own properties, so that nothing that guests put on a prototype is read.
    __proto__: null,
    code,
    message: slice(message, 0, MESSAGE_LENGTH_MAX),
    own: own === null ? null : slice(own, 0, CODE_LENGTH_MAX),
    stack: slice(stack, 0, STACK_LENGTH_MAX2),
    wait
  });
  post("fail", id, text);
}

// losses.ts
var TEXT_LENGTH_MAX = 200;
function describeLoss(of, name, loss) {
  if (loss === null) return null;
  const brief = (text) => slice(textOr(text, ""), 0, TEXT_LENGTH_MAX);
  return { lost: brief(loss.kind), of, name: brief(name), path: brief(loss.path) };
}
function tellLoss(call, of, name, loss) {
  const said = describeLoss(of, name, loss);
  if (said === null) return;
  call.lines += 1;
  if (call.lines <= limits.logLines) tell(call, "log", said);
}
function lossIn(value) {
  const holders = [];
  const paths = [];
  let depth = 0;
  let found = null;
  try {
    stringify(value, function(name, part) {
      if (found !== null) return void 0;
      while (depth > 0 && holders[depth] !== this) depth -= 1;
      const path = depth === 0 ? "" : `${paths[depth]}/${name}`;
      const kind = lostKind(part);
      if (kind !== null) found = { path, kind };
      if (part !== null && typeof part === "object") {
        depth += 1;
        holders[depth] = part;
        paths[depth] = path;
      }
      return part;
    });
  } catch {
    return null;
  }
  return found;
}
function lostKind(part) {
  if (typeof part === "function" || typeof part === "symbol") return typeof part;
  if (typeof part === "number") return part - part === 0 ? null : toText(part);
  if (part === null || typeof part !== "object" || isArray(part)) return null;
  const kind = slice(apply(objectToString, part, []), 8, -1);
  return kind === "Error" || kind !== "Object" && stringify(part) === "{}" ? kind : null;
}
function briefOf(value) {
  if (typeof value === "string") return `"${slice(value, 0, TEXT_LENGTH_MAX)}"`;
  return typeof value === "number" ? toText(value) : `of type ${typeof value}`;
}

// web-globals.ts
var web = null;
function useWeb(installed) {
  web = installed;
}

// context.ts
var LINE_LENGTH_MAX = 2048;
var PROGRESS_LENGTH_MAX = 200;
function makeContext(call, given) {
  const globals = web;
  const fetch = async (input, init) => {
    const { signal, ...request } = globals.readArguments(input, init);
    request.headers = plainHeaders(request.headers);
    return globals.makeResponse(await unlessGivenUp(signal, () => ask(call, "fetch", request)));
  };
  const context = {
    callId: given.callId,
    plugin: table({ ...given.plugin }),
    config: deepFreeze(given.config),
    userConfig: deepFreeze(given.userConfig),
    fetch,
    http: table({ json: async (url, init) => await readJson(await fetch(url, init)) }),
    storage: makeStorage(call),
    log: makeLog(call),
    progress: (fraction, text) => {
      if (typeof fraction !== "number" || fraction - fraction !== 0) {
        if (limits.isTraced) tellLoss(call, "progress", "", { path: "", kind: briefOf(fraction) });
        return;
      }
      call.lines += 1;
      if (call.lines > limits.logLines) return;
      tell(call, "progress", { fraction, text: typeof text === "string" ? slice(text, 0, PROGRESS_LENGTH_MAX) : null });
    },
    auth: table({ status: () => ask(call, "auth.status", {}) }),
    library: table({
      entries: (options) => ask(call, "library.entries", { cursor: options?.cursor ?? null })
    }),
    sleep: async (ms) => void await ask(call, "sleep", { ms }),
    crypto: table({
      digest: (algorithm, text) => ask(call, "crypto.digest", { algorithm, text }),
      hmac: (algorithm, key, text) => ask(call, "crypto.hmac", { algorithm, key, text }),
      randomUUID: () => ask(call, "crypto.randomUUID", {})
    })
  };
  defineProperty(context, "signal", {
    // Property descriptors would inherit from their prototypes.
    __proto__: null,
    enumerable: true,
    get: () => signalOf(call, globals)
  });
  return table(context);
}
function signalOf(call, { makeSignal }) {
  if (call.signal === null) {
    call.signal = makeSignal();
    if (call.ended) call.signal.giveUp(closedProblem());
  }
  return call.signal.signal;
}
function makeStorage(call) {
  return table({
    get: (key) => ask(call, "storage.get", { key }),
    set: async (key, value, options) => {
      if (limits.isTraced) tellLoss(call, "storage.set", key, lossIn(value));
      await ask(call, "storage.set", { key, value, ttlSeconds: options?.ttlSeconds });
    },
    delete: async (key) => void await ask(call, "storage.delete", { key }),
    list: (prefix) => ask(call, "storage.list", { prefix })
  });
}
function makeLog(call) {
  const log = (level) => (message, data) => {
    let more;
    let isRefused = false;
    try {
      more = data === void 0 ? void 0 : stringify(data);
    } catch {
      isRefused = true;
    }
    const line = slice(typeof message === "string" ? message : toText(message), 0, LINE_LENGTH_MAX);
    call.lines += 1;
    call.letters += line.length;
    if (call.lines > limits.logLines || call.letters > limits.logLength) return;
    const lost = limits.isTraced ? describeLoss(`log.${level}`, line, isRefused ? { path: "", kind: "" } : lossIn(data)) : null;
    tell(call, "log", { level, message: line, data: more === void 0 ? null : slice(more, 0, LINE_LENGTH_MAX), ...lost });
  };
  return table({ debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") });
}
function plainHeaders(given) {
  if (given === null || typeof given !== "object") return given;
  const plain = create(null);
  if (!isArray(given) && typeof given[iterator] !== "function") {
    for (const name of ownKeys(given)) if (typeof name === "string") plain[name] = given[name];
  } else for (const pair of given) plain[toText(pair[0])] = pair[1];
  return plain;
}
function unlessGivenUp(signal, start3) {
  if (signal === void 0 || signal === null) return start3();
  if (signal.aborted) throw signal.reason;
  return new GuestPromise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    settle(start3(), resolve, reject);
  });
}
function deepFreeze(value) {
  if (value === null || typeof value !== "object") return value;
  for (const key of ownKeys(value)) deepFreeze(value[key]);
  return freeze(value);
}
async function readJson(response) {
  const { status, url, retryAfterSeconds } = response;
  if (status === 404 || status === 410) throw problem("not_found", `${url} was not found.`);
  if (status === 401 || status === 403) throw problem("auth", `${url} rejected the credentials (${status}).`);
  if (status === 429 || status === 503 && retryAfterSeconds !== null)
    throw problem("rate_limited", `${url} has reached its rate limit.`, retryAfterSeconds);
  if (!response.ok) throw problem("upstream", `${url} answered ${status}.`);
  try {
    return await response.json();
  } catch {
    throw problem("upstream", `${url} did not return valid JSON.`);
  }
}

// handlers.ts
var handlers = null;
function installRegister() {
  defineProperty(globalThis, "register", {
    configurable: true,
    value: function register(given) {
      if (handlers !== null) throw new Error("A program can register its functions only once.");
      const known = create(null);
      for (const name of ownKeys(given))
        if (typeof name === "string" && typeof given[name] === "function") known[name] = given[name];
      handlers = freeze(known);
    }
  });
}
function definePlugin(plugin) {
  if (handlers !== null) throw new GuestError("A plugin can be defined only once.");
  const known = create(null);
  for (let index = 0; index < limits.methods.length; index++) {
    const path = limits.methods[index];
    const names2 = split(path, ".");
    let holder;
    let at = plugin;
    for (let step = 0; step < names2.length && at !== void 0 && at !== null; step++) {
      holder = at;
      at = at[names2[step]];
    }
    if (typeof at === "function") {
      const own = holder;
      const handler = at;
      known[path] = (given, context) => apply(handler, own, path === "setup" ? [context] : path === "migrate" ? [context, given] : [given, context]);
    }
  }
  handlers = freeze(known);
  let names = "";
  for (const path in known) names += `${path}
`;
  return names;
}
function runCall(id, name, text, contextText) {
  const handler = handlers?.[name];
  if (handler === void 0) return sendProblem(id, { code: "not_implemented", message: `The program has no function "${name}".` });
  const call = beginCall(id);
  const succeed = (value) => endAfterRequests(call, () => endCall(call, () => sendResult(id, value)));
  let result;
  let then;
  try {
    const given = parse(text);
    result = apply(handler, void 0, typeof contextText === "string" ? [given, makeContext(call, parse(contextText))] : [given]);
    if (result !== null && typeof result === "object") then = result.then;
  } catch (error) {
    return call.fail(error);
  }
  if (typeof then !== "function") return succeed(result);
  settle(result, succeed, call.fail);
}
function beginCall(id) {
  const counts = { requests: 0, running: 0, first: null, last: null, lines: 0, letters: 0 };
  const fail = (error) => endCall(call, () => sendFailure(id, error, "thrown"));
  const call = { id, ended: false, ...counts, signal: null, end: null, fail };
  calls.live += 1;
  calls.current = call;
  return call;
}
function endCall(call, answer) {
  if (call.ended) return;
  call.ended = true;
  answer();
  calls.live -= 1;
  if (calls.live === 0) clearTimers();
  call.signal?.giveUp(closedProblem());
}

// realm.ts
var STACK_CALLS = 50;
function restrictRealm() {
  GuestError.stackTraceLimit = STACK_CALLS;
  for (const name of ["WebAssembly", "SharedArrayBuffer", "Atomics", "console"]) deleteProperty(globalThis, name);
  for (const name of ["resize", "transfer", "transferToFixedLength", "resizable", "maxByteLength"])
    deleteProperty(NativeBuffer.prototype, name);
  for (const key of ownKeys(NativeBuffer)) {
    if (key === "length" || key === "name" || key === "prototype") continue;
    defineProperty(FixedBuffer, key, Object.getOwnPropertyDescriptor(NativeBuffer, key));
  }
  defineProperty(FixedBuffer, "name", { value: "ArrayBuffer" });
  defineProperty(FixedBuffer, "prototype", { value: NativeBuffer.prototype, writable: false });
  defineProperty(NativeBuffer.prototype, "constructor", { value: FixedBuffer, writable: true, configurable: true });
  defineProperty(globalThis, "ArrayBuffer", { value: FixedBuffer, writable: true, configurable: true });
}
function FixedBuffer(length, options) {
  if (new.target === void 0) throw new NativeTypeError("Class constructor ArrayBuffer cannot be invoked without 'new'");
  if (options !== void 0 && options !== null && options.maxByteLength !== void 0)
    throw new NativeTypeError("Resizable buffers are not available to plugins.");
  return construct(NativeBuffer, [length], new.target);
}

// prelude.ts
function start2(post2, limits2, installWeb) {
  openChannel(post2, limits2);
  restrictRealm();
  useWeb(installWeb === void 0 ? null : installWeb(freeze({ __proto__: null, set: setTimer, clear: clearTimer })));
  installRegister();
  return function entry(kind, id, name, text, more) {
    if (kind === "call") return runCall(id, name, text, more);
    if (kind === "reply") return receiveReply(id, name, text);
    if (kind === "timer") return runTimer(id);
    if (kind === "wait") return waitingRequest(id) ?? waitingTimer(id) ?? "";
    return kind === "define" ? definePlugin(name) : void 0;
  };
}
return module.exports.start
})({})
