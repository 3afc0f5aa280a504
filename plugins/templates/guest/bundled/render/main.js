// biome-ignore-all lint: built from its sources
// biome-ignore-all format: built from its sources
// biome-ignore-all assist: built from its sources
"use strict";
(() => {
  // ../../templates/guest/handlebars.ts
  var global = globalThis;
  var Handlebars = global.Handlebars;
  delete global.Handlebars;

  // ../../templates/guest/vocabulary.ts
  var OUTPUT_LENGTH_MAX = 256 * 1024;
  var PAD_MAX = 1e3;
  var TemplateError = class extends Error {
    code;
    line;
    column;
    /** @param at Handlebars counts columns from 0, people from 1 */
    constructor(code, message, at) {
      super(message);
      this.code = code;
      this.line = at?.line ?? null;
      this.column = at === void 0 || at === null ? null : at.column + 1;
    }
  };
  var tooLong = () => new TemplateError("output_too_long", `The output is longer than ${OUTPUT_LENGTH_MAX} characters.`);
  var bounded = (text) => {
    if (text.length > OUTPUT_LENGTH_MAX) throw tooLong();
    return text;
  };
  var own = (holder, key) => holder !== null && typeof holder === "object" && Object.hasOwn(holder, key) ? holder[key] : void 0;
  var isMissing = (value) => value === void 0 || value === null || value === "";
  function show(value) {
    if (typeof value === "string") return value;
    if (value === void 0 || value === null) return "";
    if (Array.isArray(value)) return bounded(value.map(show).join(", "));
    if (typeof value === "object") {
      for (const key of ["name", "title", "id"]) {
        const found = own(value, key);
        if (typeof found === "string") return found;
      }
      return bounded(JSON.stringify(value));
    }
    return String(value);
  }
  Handlebars.Utils.escapeExpression = show;
  var number = (value) => typeof value === "string" && value.trim() !== "" ? Number(value) : typeof value === "number" ? value : Number.NaN;
  var HTML = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;" };
  var condition = (test) => function conditional(...given) {
    const options = given.pop();
    const holds = test(...given);
    if (typeof options.fn !== "function") return holds;
    return holds ? options.fn(this) : options.inverse(this);
  };
  var isTrue = (value) => Array.isArray(value) ? value.length > 0 : Boolean(value);
  var isSame = (a, b) => a === b || !isMissing(a) && !isMissing(b) && typeof a !== "object" && typeof b !== "object" && String(a) === String(b);
  var compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (isMissing(a) || isMissing(b)) return Number.NaN;
    return show(a) < show(b) ? -1 : show(a) > show(b) ? 1 : 0;
  };
  function replaceAll(value, search, replacement) {
    const [from, to] = [show(search), show(replacement)];
    const whole = show(value);
    if (from === "") return whole;
    const parts = whole.split(from);
    if (whole.length + (parts.length - 1) * (to.length - from.length) > OUTPUT_LENGTH_MAX) throw tooLong();
    return parts.join(to);
  }
  function joinAll(list, separator) {
    const between = typeof separator === "string" ? separator : ", ";
    const entries = (Array.isArray(list) ? list : [list]).map(show);
    if ((entries.length - 1) * between.length > OUTPUT_LENGTH_MAX) throw tooLong();
    return bounded(entries.join(between));
  }
  var MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
  var two = (value) => String(value).padStart(2, "0");
  function formatDate(value, format) {
    const date = typeof value === "number" || typeof value === "string" ? new Date(value) : new Date(Number.NaN);
    if (Number.isNaN(date.getTime())) return "";
    const year = String(date.getUTCFullYear()).padStart(4, "0");
    const month = date.getUTCMonth();
    const parts = {
      YYYY: year,
      YY: year.slice(-2),
      MMMM: MONTHS[month],
      MMM: MONTHS[month].slice(0, 3),
      MM: two(month + 1),
      M: String(month + 1),
      DD: two(date.getUTCDate()),
      D: String(date.getUTCDate()),
      HH: two(date.getUTCHours()),
      mm: two(date.getUTCMinutes()),
      ss: two(date.getUTCSeconds())
    };
    return bounded(
      (typeof format === "string" ? format : "YYYY-MM-DD").replace(/YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|mm|ss/g, (part) => parts[part])
    );
  }
  function calculate(a, operator, b) {
    const [x, y] = [number(a), number(b)];
    const results = { "+": x + y, "-": x - y, "*": x * y, "/": x / y, "%": x % y };
    const result = results[operator];
    return result !== void 0 && Number.isFinite(result) ? result : "";
  }
  function each(items, options) {
    const results = [];
    let length = 0;
    const data = options.data ? Handlebars.createFrame(options.data) : void 0;
    const keys = Array.isArray(items) ? [...items.keys()] : items !== null && typeof items === "object" ? Object.keys(items) : [];
    const count = keys.length;
    for (let index = 0; index < count; index++) {
      const key = keys[index];
      const item = items[key];
      if (data) Object.assign(data, { key, index, first: index === 0, last: index === count - 1 });
      const result = options.fn(item, { data, blockParams: [item, key] });
      length += result.length;
      if (length > OUTPUT_LENGTH_MAX) throw tooLong();
      results.push(result);
    }
    return count === 0 ? options.inverse(this) : results.join("");
  }
  var HELPERS = {
    lowercase: (value) => show(value).toLowerCase(),
    uppercase: (value) => show(value).toUpperCase(),
    capitalize: (value) => show(value).replace(/(^|[\s-])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase()),
    trim: (value) => show(value).trim(),
    truncate: (value, length, suffix) => {
      const [whole, most] = [[...show(value)], typeof length === "number" ? length : 100];
      return whole.length <= most ? whole.join("") : whole.slice(0, Math.max(0, most)).join("").trimEnd() + (typeof suffix === "string" ? suffix : "...");
    },
    replace: (value, search, replacement) => replaceAll(value, search, typeof replacement === "object" ? "" : replacement),
    split: (value, separator, index) => {
      const parts = show(value).split(typeof separator === "string" ? separator : ",");
      return typeof index === "number" ? parts.at(index) ?? "" : parts;
    },
    join: joinAll,
    default: (...given) => given.slice(0, -1).find((value) => !isMissing(value)) ?? "",
    urlencode: (value) => bounded(encodeURIComponent(show(value).toWellFormed())),
    length: (value) => value !== null && typeof value === "object" && !Array.isArray(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : [...show(value)].length,
    padStart: (value, length, pad) => show(value).padStart(Math.min(typeof length === "number" ? length : 2, PAD_MAX), typeof pad === "string" ? pad : "0"),
    math: calculate,
    lookup: (holder, key) => typeof key === "string" || typeof key === "number" ? own(holder, key) : void 0,
    formatDate,
    json: (value) => bounded(JSON.stringify(value ?? null)),
    first: (value, count) => {
      const list = Array.isArray(value) ? value : [...show(value)];
      if (typeof count !== "number") return list[0] ?? "";
      return Array.isArray(value) ? list.slice(0, count) : list.slice(0, count).join("");
    },
    html: (value) => bounded(show(value).replace(/[&<>"'`]/g, (character) => HTML[character])),
    exists: condition((value) => !isMissing(value)),
    ifEquals: condition(isSame),
    ifNotEquals: condition((a, b) => !isSame(a, b)),
    gt: condition((a, b) => compare(a, b) > 0),
    lt: condition((a, b) => compare(a, b) < 0),
    and: condition((...values) => values.every(isTrue)),
    or: condition((...values) => values.some(isTrue)),
    includes: condition(
      (list, value) => Array.isArray(list) ? list.some((item) => isSame(item, value) || isSame(show(item), value)) : show(list).includes(show(value))
    ),
    each
  };
  var BLOCKS = ["each", "if", "unless", "with"];
  for (const name of Object.keys(Handlebars.helpers))
    if (!["if", "unless", "with", "helperMissing", "blockHelperMissing"].includes(name)) Handlebars.unregisterHelper(name);
  Handlebars.registerHelper(HELPERS);
  var KNOWN = [.../* @__PURE__ */ new Set([...BLOCKS, ...Object.keys(HELPERS)])];
  var knownHelpers = Object.fromEntries(KNOWN.map((name) => [name, true]));
  var isKnown = (name) => Object.hasOwn(knownHelpers, name);

  // ../../templates/guest/parse.ts
  var TEMPLATE_LENGTH_MAX = 64 * 1024;
  var DEPTH_MAX = 32;
  function parse(template) {
    if (typeof template !== "string") throw new TemplateError("invalid_template", "A template must be a text.");
    if (template.length > TEMPLATE_LENGTH_MAX)
      throw new TemplateError("invalid_template", `The template has ${template.length} characters; the limit is ${TEMPLATE_LENGTH_MAX}.`);
    try {
      return Handlebars.parse(template);
    } catch (error) {
      throw findUnclosed(template) ?? readParseError(template, error.message);
    }
  }
  var positionOf = (template, index) => {
    const before = template.slice(0, index).split("\n");
    return { line: before.length, column: before.at(-1).length };
  };
  function findUnclosed(template) {
    const lastOpen = template.lastIndexOf("{{");
    if (lastOpen > template.lastIndexOf("}}"))
      return new TemplateError("invalid_template", "{{ is not closed: }} is missing.", positionOf(template, lastOpen));
    const open = [];
    for (const match of template.matchAll(/\{\{~?([#/])\s*([^\s}~]+)/g)) {
      if (match[1] === "#") open.push(match);
      else if (open.at(-1)?.[2] === match[2]) open.pop();
      else {
        const last2 = open.at(-1);
        const message = last2 ? `{{/${match[2]}}} does not close {{#${last2[2]}}}.` : `{{/${match[2]}}} closes nothing: {{#${match[2]}}} is missing.`;
        return new TemplateError("invalid_template", message, positionOf(template, match.index));
      }
    }
    const last = open.at(-1);
    return last ? new TemplateError("invalid_template", `{{#${last[2]}}} is not closed: {{/${last[2]}}} is missing.`, positionOf(template, last.index)) : null;
  }
  function readParseError(template, message) {
    const own2 = /^([\s\S]*?) - (\d+):(\d+)$/.exec(message);
    if (own2) return new TemplateError("invalid_template", own2[1], { line: Number(own2[2]), column: Number(own2[3]) });
    const row = Number(/on line (\d+)/.exec(message)?.[1] ?? 1);
    const pointer = /\n(-*)\^\n/.exec(message)?.[1]?.length ?? 0;
    const shown = message.split("\n")[1] ?? "";
    const before = shown.startsWith("...") ? shown.slice(3, pointer) : shown.slice(0, pointer);
    const found = before === "" ? 0 : (template.split("\n")[row - 1] ?? "").indexOf(before);
    const at = { line: row, column: found < 0 ? 0 : found + before.length };
    const [from, to] = [message.indexOf("Expecting "), message.lastIndexOf(", got")];
    const expected = from < 0 || to < from ? "" : message.slice(from, to);
    const [, got = "INVALID"] = /got '([A-Z_]+)'/.exec(message) ?? [];
    const names = [...new Set([...expected.matchAll(/'([A-Z_]+)'/g)].flatMap(([, token]) => TOKENS[token] ?? []))];
    const wanted = names.length > 0 ? `, expected ${names.slice(0, 6).join(", ")}` : "";
    if (got === "NUMBER" && /\.$/.test(before))
      return new TemplateError("invalid_template", "A number at the end of a path must be in brackets: metadata.genres.[0].", at);
    return new TemplateError("invalid_template", `Found ${TOKENS[got] ?? got}${wanted}.`, at);
  }
  var TOKENS = {
    EOF: "the end of the template",
    OPEN: "{{",
    CLOSE: "}}",
    OPEN_BLOCK: "{{#",
    OPEN_ENDBLOCK: "{{/",
    OPEN_INVERSE: "{{^",
    OPEN_UNESCAPED: "{{{",
    CLOSE_UNESCAPED: "}}}",
    OPEN_SEXPR: "(",
    CLOSE_SEXPR: ")",
    ID: "a name",
    STRING: "a text",
    NUMBER: "a number",
    INVALID: "an unexpected character",
    EQUALS: "=",
    SEP: ". or /",
    DATA: "@",
    CONTENT: "text",
    INVERSE: "{{else}}"
  };
  function check(node, called, depth = 0) {
    if (node === null || typeof node !== "object") return;
    if (depth > DEPTH_MAX * 2)
      throw new TemplateError("invalid_template", `The template is nested deeper than ${DEPTH_MAX} levels.`, node.loc?.start);
    switch (node.type) {
      case "PartialStatement":
      case "PartialBlockStatement":
        throw new TemplateError("invalid_template", "Partials are not available.", node.loc.start);
      case "Decorator":
      case "DecoratorBlock":
        throw new TemplateError("invalid_template", "Decorators and inline partials are not available.", node.loc.start);
      case "MustacheStatement":
        node.escaped = true;
    }
    if (["MustacheStatement", "SubExpression", "BlockStatement"].includes(node.type)) checkHelper(node, called);
    for (const key of ["body", "params", "program", "inverse", "path", "hash", "pairs", "value"]) {
      const child = node[key];
      if (Array.isArray(child)) for (const one of child) check(one, called, depth + 1);
      else check(child, called, depth + 1);
    }
  }
  function checkHelper(node, called) {
    const { path, params, hash, loc } = node;
    const name = path.original;
    const isCall = params.length > 0 || hash !== void 0 && hash !== null || node.type === "SubExpression";
    if (name === "helperMissing" || name === "blockHelperMissing")
      throw new TemplateError("invalid_template", `Unknown helper "${name}".`, loc.start);
    if (path.type !== "PathExpression") {
      if (isCall) throw new TemplateError("invalid_template", "Only helpers accept arguments.", loc.start);
      return;
    }
    if (isKnown(name)) called.add(name);
    if (isCall && !isKnown(name)) throw new TemplateError("unknown_helper", `Unknown helper "${name}".`, loc.start);
    if (node.type === "BlockStatement" && BLOCKS.includes(name) && params.length === 0)
      throw new TemplateError("invalid_template", `{{#${name}}} needs an argument: {{#${name} metadata.title}}.`, loc.start);
  }
  var failure = (error) => {
    const { message, line, column } = error ?? {};
    return {
      error: {
        code: error instanceof TemplateError ? error.code : "failed",
        message: String(message ?? "The template could not be rendered.").slice(0, 1e3),
        line: line ?? null,
        column: column ?? null
      }
    };
  };
  function readTemplate(template) {
    const tree = parse(template);
    const called = /* @__PURE__ */ new Set();
    check(tree, called);
    return { tree, called };
  }

  // ../../templates/guest/outline.ts
  var PATHS_LENGTH_MAX = 256 * 1024;
  function outline({ template }) {
    try {
      const { tree } = readTemplate(template);
      Handlebars.precompile(tree, { knownHelpers, knownHelpersOnly: true });
      const found = { paths: [], whole: false, length: 0 };
      readProgram(tree, { base: "", names: {}, parent: null }, found);
      return { paths: found.paths, whole: found.whole };
    } catch (error) {
      return failure(error);
    }
  }
  function readProgram(program, scope, found) {
    for (const node of program?.body ?? []) {
      if (node.type === "MustacheStatement") readCall(node, scope, found);
      else if (node.type === "BlockStatement") readBlock(node, scope, found);
    }
  }
  function readCall({ path, params, hash }, scope, found) {
    const isHelper = path.type === "PathExpression" && isKnown(path.original) && (params.length > 0 || path.parts.length === 1);
    if (!isHelper || params.length === 0) readValue(path, scope, found);
    for (const param of params) readValue(param, scope, found);
    for (const pair of hash?.pairs ?? []) readValue(pair.value, scope, found);
  }
  function readValue(node, scope, found) {
    if (node.type === "SubExpression") {
      readCall(node, scope, found);
      return null;
    }
    if (node.type !== "PathExpression") return null;
    const resolved = resolve(node, scope);
    if (resolved === null) return null;
    if (resolved === "") found.whole = true;
    else addPath(found, { path: resolved, line: node.loc.start.line, column: node.loc.start.column + 1 });
    return resolved;
  }
  function addPath(found, field) {
    found.length += field.path.length;
    if (found.length > PATHS_LENGTH_MAX)
      throw new TemplateError("invalid_template", `The names of the fields have more than ${PATHS_LENGTH_MAX} characters in total.`, field);
    found.paths.push(field);
  }
  function resolve(node, scope) {
    const [head, ...rest] = node.parts;
    if (node.data) return head === "root" ? rest.join(".") : null;
    let at = scope;
    for (let up = node.depth; up > 0 && at; up--) at = at.parent;
    if (!at) return null;
    if (node.depth === 0 && head !== void 0 && !/^(this|\.)/.test(node.original)) {
      for (let named = scope; named; named = named.parent)
        if (Object.hasOwn(named.names, head)) return (named.names[head] ?? null) === null ? null : [named.names[head], ...rest].join(".");
    }
    if (at.base === null) return null;
    return [at.base, ...node.parts].filter((part) => part !== "").join(".");
  }
  function readBlock(node, scope, found) {
    const { path, params, hash, program, inverse } = node;
    const name = path.original;
    const isHelper = isKnown(name);
    const subject = isHelper ? params[0] : path;
    const about = subject === void 0 ? null : readValue(subject, scope, found);
    for (const param of params.slice(1)) readValue(param, scope, found);
    for (const pair of hash?.pairs ?? []) readValue(pair.value, scope, found);
    if (!isHelper) found.whole = true;
    let inner = scope;
    if (name === "each" || name === "with" || !isHelper) {
      const base = about === null || !isHelper ? null : name === "each" ? `${about}[]` : about;
      const [first, second] = program?.blockParams ?? [];
      const names = { ...first !== void 0 && { [first]: base }, ...second !== void 0 && { [second]: null } };
      inner = { base, names, parent: scope };
    }
    readProgram(program, inner, found);
    readProgram(inverse, scope, found);
  }

  // ../../templates/guest/render.ts
  var BATCH_LENGTH_MAX = 8 * 1024 * 1024;
  var KEPT_MAX = 100;
  var TRACE_MAX = 500;
  var SECTIONS = ["blockHelperMissing", "helperMissing", "each"];
  var kept = /* @__PURE__ */ new Map();
  function compile(template) {
    const known = kept.get(template);
    if (known) {
      kept.delete(template);
      kept.set(template, known);
      return known;
    }
    const { tree, called } = readTemplate(template);
    const own2 = Handlebars.create();
    const helpers = Object.fromEntries([...SECTIONS, ...called].map((name) => [name, Handlebars.helpers[name]]));
    Object.assign(own2, { helpers });
    const run = own2.compile(tree, { knownHelpers, knownHelpersOnly: true });
    kept.set(template, run);
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value);
    return run;
  }
  var PREFIX = "plugin:";
  function bridge(given) {
    if (given === null || typeof given !== "object") return;
    const ids = given;
    const keys = Object.keys(ids);
    const more = keys.filter((key) => key.startsWith(PREFIX) && !Object.hasOwn(ids, key.slice(PREFIX.length)));
    for (const [way, key] of [...keys.map((key2) => [key2, key2]), ...more.map((key2) => [key2.slice(PREFIX.length), key2])]) {
      const names = way.split(".");
      if (way === key && names.length === 1) continue;
      let at = ids;
      for (const [index, name] of names.entries()) {
        const isLast = index === names.length - 1;
        let next = own(at, name);
        if (next === void 0 || isLast && typeof next !== "object") {
          next = isLast ? ids[key] : {};
          Object.defineProperty(at, name, { value: next, enumerable: false, configurable: true });
        } else if (isLast && !Object.keys(next).length) {
          for (const [part, value] of Object.entries(ids[key]))
            Object.defineProperty(next, part, { value, enumerable: false, configurable: true });
        }
        at = next;
      }
    }
  }
  function watched(value, path, trace) {
    return new Proxy(value, {
      get(target, key) {
        if (typeof key === "symbol" || key === "toJSON" || Array.isArray(target) && key in Array.prototype) return Reflect.get(target, key);
        if (!Object.hasOwn(target, key)) {
          trace.miss(join(path, key));
          return void 0;
        }
        const here = join(path, key);
        const found = target[key];
        trace.use(here);
        if (found === null) trace.miss(here);
        return found !== null && typeof found === "object" ? watched(found, here, trace) : found;
      }
    });
  }
  var join = (path, key) => path === "" ? key : `${path}.${key}`;
  function createTrace() {
    const [used, missing] = [/* @__PURE__ */ new Set(), /* @__PURE__ */ new Set()];
    const add = (set, path) => set.size < TRACE_MAX && set.add(path);
    return {
      use: (path) => add(used, path),
      miss: (path) => {
        add(used, path);
        add(missing, path);
      },
      /** Only the ends of the paths: a template that reads metadata.title does not use all of metadata. */
      read: () => {
        const all = [...used];
        return { used: all.filter((path) => !all.some((other) => other.startsWith(`${path}.`))), missing: [...missing] };
      }
    };
  }
  function render({ template, contexts, trace }) {
    let run;
    try {
      run = compile(template);
    } catch (error) {
      return failure(error);
    }
    const tracing = trace === true ? createTrace() : null;
    let length = 0;
    const results = contexts.map((context) => {
      try {
        bridge(own(context, "externalIds"));
        bridge(own(own(context, "series"), "externalIds"));
        const given = tracing ? watched(context, "", tracing) : context;
        const output = bounded(run(given));
        length += output.length;
        if (length > BATCH_LENGTH_MAX)
          throw new TemplateError("output_too_long", `The outputs of this batch are longer than ${BATCH_LENGTH_MAX} characters.`);
        return { output };
      } catch (error) {
        return failure(error);
      }
    });
    return { results, ...tracing && { trace: tracing.read() } };
  }

  // ../../templates/guest/main.ts
  register({ render, outline, names: () => KNOWN });
  var FIRST = '{{#if title}}{{title}}{{else}}{{uppercase "-"}}{{/if}}';
  outline({ template: FIRST });
  render({ template: FIRST, contexts: [{ title: "A" }] });
})();
