// biome-ignore-all lint: built from main.ts
// biome-ignore-all format: built from main.ts
// biome-ignore-all assist: built from main.ts
"use strict";
(() => {
  // engine:re2js
  var { RE2JS, RE2JSSyntaxException } = globalThis.RE2JS;

  // ../../../../core/fields/source-key.ts
  var PREFIX = "plugin:";
  var pluginKey = (name) => PREFIX + name;

  // ../../../../core/conditions/context-path.ts
  var FREE = /* @__PURE__ */ new Set(["externalIds", "customMetadata"]);
  function readPath(context, path) {
    let at = context;
    const parts = path.split(".");
    for (let index = 0; index < parts.length; index++) {
      const part = ownName(at, parts[index]);
      const rest = parts.slice(index + 1);
      const value = step(at, part);
      if (rest.length > 0 && FREE.has(part)) {
        return part === "externalIds" ? readExternalId(value, rest.join(".")) : readFree(value, rest);
      }
      at = value;
    }
    return at;
  }
  function ownName(holder, name) {
    if (hasOwn(holder, name) || !name.includes("_")) return name;
    return name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
  }
  var hasOwn = (holder, name) => holder !== null && typeof holder === "object" && Object.hasOwn(holder, name);
  function step(holder, name) {
    if (Array.isArray(holder)) {
      if (/^\d+$/.test(name)) return holder[Number(name)];
      return holder.map((entry) => step(entry, name)).filter((value) => value !== void 0);
    }
    return hasOwn(holder, name) ? holder[name] : void 0;
  }
  function readExternalId(ids, rest) {
    if (rest === "count") return ids !== null && typeof ids === "object" ? Object.keys(ids).length : 0;
    const whole = keyOf(ids, rest);
    if (whole !== void 0) return step(step(ids, whole), "id");
    const member = /^(.*)\.(id|url|hash)$/.exec(rest);
    const key = member ? keyOf(ids, member[1]) : void 0;
    return key === void 0 ? void 0 : step(step(ids, key), member?.[2]);
  }
  function keyOf(ids, name) {
    return [name, pluginKey(name)].find((key) => hasOwn(ids, key));
  }
  function readFree(holder, parts) {
    if (parts.length === 0) return holder;
    if (Array.isArray(holder)) return readFree(step(holder, parts[0]), parts.slice(1));
    for (let length = parts.length; length > 0; length--) {
      const name = parts.slice(0, length).join(".");
      if (hasOwn(holder, name)) return readFree(holder[name], parts.slice(length));
    }
    return void 0;
  }

  // ../../../../core/conditions/operators.ts
  var VALUE_OPERATORS = [
    "equals",
    "not_equals",
    "gt",
    "gte",
    "lt",
    "lte",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "matches",
    "in",
    "not_in"
  ];
  var PRESENCE_OPERATORS = ["is_null", "is_not_null"];
  var RULE_OPERATORS = [...PRESENCE_OPERATORS, ...VALUE_OPERATORS];
  var RULE_DEPTH_MAX = 10;
  var RULES_MAX = 200;

  // ../../../../core/foundation/errors.ts
  var ERRORS = {
    unauthorized: {
      kind: "unauthenticated",
      message: "Sign in first: send a bearer token or an API key.",
      remedy: "Sign in, or send another token or API key."
    },
    forbidden: {
      kind: "forbidden",
      message: "Your account may not do this.",
      remedy: "Do not repeat it: the account or key lacks a permission, which an administrator can give."
    },
    not_found: {
      kind: "absent",
      message: "There is nothing here, or you may not see it.",
      remedy: "Check the address and the ids in it; what is hidden from the caller does not exist for it."
    },
    method_not_allowed: {
      kind: "method",
      message: "This address does not support that method.",
      remedy: "Use a method that this document lists for the address."
    },
    invalid_request: {
      kind: "malformed",
      message: "The request is malformed.",
      remedy: "Correct the request: `details` names each member or parameter that is missing, unknown or of the wrong type."
    },
    invalid_value: {
      kind: "rule",
      message: "A value breaks a rule.",
      remedy: "Correct the value: `details` names each member that breaks a rule."
    },
    not_paged: {
      kind: "rule",
      message: "This book has no page images.",
      remedy: "Read the book by its resources or its file."
    },
    page_unreadable: {
      kind: "rule",
      message: "The bytes of this page are damaged or cannot be shown.",
      remedy: "Show the next page; the file is damaged, and repeating does not help."
    },
    not_analyzed: {
      kind: "conflict",
      message: "This book has not been analyzed yet.",
      remedy: "Try again when the book has been analyzed; an event tells when."
    },
    conflict: {
      kind: "conflict",
      message: "This conflicts with the current state.",
      remedy: "Read the state again; `message` says what is in the way."
    },
    precondition_failed: {
      kind: "precondition",
      message: "The resource has changed since you read it; get it again.",
      remedy: "Get the record again, repeat the edit on it, and send its new ETag."
    },
    scan_running: {
      kind: "conflict",
      message: "A scan of this library is already waiting or running.",
      remedy: "Wait for the end of the scan, or cancel it."
    },
    request_timeout: {
      kind: "slow",
      message: "The body of the request arrived too slowly.",
      remedy: "Send it again, faster."
    },
    payload_too_large: {
      kind: "too_large",
      message: "The request body is too large.",
      remedy: "Send less at once."
    },
    unsupported_media_type: {
      kind: "media_type",
      message: "The body must be plain, uncompressed JSON.",
      remedy: "Send JSON as application/json, uncompressed, or a form where the operation takes a file."
    },
    range_not_satisfiable: {
      kind: "range",
      message: "The requested range lies outside the file.",
      remedy: "Get the content from its beginning; it is shorter than expected."
    },
    rate_limit_exceeded: {
      kind: "rate",
      message: "Too many requests.",
      remedy: "Wait as many seconds as Retry-After says."
    },
    unavailable: {
      kind: "unavailable",
      message: "The server cannot do this at the moment; try again shortly.",
      remedy: "Try again after the seconds of Retry-After, or shortly."
    },
    service_failed: {
      kind: "service",
      message: "Another service that this needs did not answer as expected.",
      remedy: "Check the address in `message` and that its service works, then try again; this server itself is well."
    },
    internal: {
      kind: "internal",
      message: "An internal error occurred. Give the request id to the administrator.",
      remedy: "Report it with the requestId; repeating rarely helps."
    }
  };
  var AppError = class extends Error {
    code;
    details;
    retryAfterSeconds;
    constructor(code, message, more = {}) {
      super(message ?? ERRORS[code].message, more.cause === void 0 ? void 0 : { cause: more.cause });
      this.name = "AppError";
      this.code = code;
      this.details = more.details;
      this.retryAfterSeconds = more.retryAfterSeconds;
    }
  };
  function refuse(code, message, more) {
    throw new AppError(code, message, more);
  }

  // ../../../../plugin-sdk/normalize-text.ts
  var MARKS_IN_A_ROW_MAX = 30;
  var MARKS = /[\p{M}\uff9e\uff9f]+/gu;
  var ASCII = /^[\0-\x7f]*$/;
  function cutText(text, max) {
    if (text.length <= max) return text;
    const last = text.charCodeAt(max - 1);
    return text.slice(0, last >= 55296 && last <= 56319 ? max - 1 : max);
  }
  function boundMarks(text) {
    if (ASCII.test(text)) return text;
    return text.replace(MARKS, (run) => run.length > MARKS_IN_A_ROW_MAX ? firstCharacters(run, MARKS_IN_A_ROW_MAX) : run);
  }
  function firstCharacters(run, count) {
    let end = 0;
    for (let left = count; left > 0 && end < run.length; left--) end += run.codePointAt(end) > 65535 ? 2 : 1;
    return run.slice(0, end);
  }
  function normalizeText(text, max, form = "NFC") {
    const start = cutText(text, max);
    return ASCII.test(start) ? start : boundMarks(start).normalize(form);
  }

  // ../../../../core/conditions/condition.ts
  var FIELD_LENGTH_MAX = 500;
  var VALUE_LENGTH_MAX = 1e3;
  var VALUES_MAX = 500;
  var MATCHED_LENGTH_MAX = 2e4;
  var STEPS_MAX = 1e4;
  var WORK_MAX = 2e6;
  var EXCERPT_LENGTH_MAX = 200;
  var EXCERPT_ENTRIES_MAX = 20;
  var EXCERPT_DEPTH_MAX = 3;
  var EXCERPT_LENGTH_TOTAL_MAX = 5e4;
  function compileCondition(given, path = "") {
    const count = { rules: 0, steps: 0 };
    const group = readGroup(given, path, 1, count);
    return {
      passes: (context) => {
        checkWork(group, context, path);
        return passes(group, context);
      },
      explain: (context) => {
        checkWork(group, context, path);
        const verdict = explain(group, context, { length: EXCERPT_LENGTH_TOTAL_MAX });
        return { passed: verdict.passed, rules: "rules" in verdict ? verdict.rules : [] };
      }
    };
  }
  var wrong = (path, message) => refuse("invalid_value", `The condition${path === "" ? "" : ` at ${path}`} ${message}.`, { details: [{ path, message }] });
  function readGroup(given, path, depth, count) {
    if (given === null || typeof given !== "object" || Array.isArray(given)) return wrong(path, "must be an object with mode and rules");
    if (depth > RULE_DEPTH_MAX) return wrong(path, `is nested deeper than ${RULE_DEPTH_MAX} levels`);
    const { mode = "all", rules = [], ...more } = given;
    const [unknown] = Object.keys(more);
    if (unknown !== void 0) return wrong(`${path}/${unknown}`, "is not a member of a condition: it has mode and rules");
    if (mode !== "all" && mode !== "any") return wrong(`${path}/mode`, 'must be "all" or "any"');
    if (!Array.isArray(rules)) return wrong(`${path}/rules`, "must be a list");
    return {
      mode,
      rules: rules.map((rule, index) => {
        const here = `${path}/rules/${index}`;
        if (rule !== null && typeof rule === "object" && "rules" in rule) return readGroup(rule, here, depth + 1, count);
        if (++count.rules > RULES_MAX) return wrong(here, `exceeds the limit of ${RULES_MAX} rules`);
        const read = readRule(rule, here);
        count.steps += read.test.steps ?? 0;
        if (count.steps > STEPS_MAX)
          return wrong(
            `${here}/value`,
            `brings the patterns to ${count.steps} steps, more than the limit of ${STEPS_MAX}: use less repetition`
          );
        return read;
      })
    };
  }
  function readRule(given, path) {
    if (given === null || typeof given !== "object" || Array.isArray(given)) return wrong(path, "must be an object with field and operator");
    const { field, operator, value, ...more } = given;
    const [unknown] = Object.keys(more);
    if (unknown !== void 0) return wrong(`${path}/${unknown}`, "is not a member of a rule: it has field, operator and value");
    if (typeof field !== "string" || field === "" || field.length > FIELD_LENGTH_MAX)
      return wrong(`${path}/field`, "must be a path such as metadata.title");
    if (!RULE_OPERATORS.includes(operator)) return wrong(`${path}/operator`, `must be one of ${RULE_OPERATORS.join(", ")}`);
    const known = operator;
    if (PRESENCE_OPERATORS.includes(known)) {
      if (value !== void 0 && value !== null) return wrong(`${path}/value`, `must be omitted: ${known} takes no value`);
      return { field, operator: known, test: known === "is_null" ? isNull : (actual) => !isNull(actual) };
    }
    const checked = readValue(value, known, `${path}/value`);
    return { field, operator: known, value: checked, test: testOf(known, checked, `${path}/value`) };
  }
  var isScalar = (value) => value === null || ["string", "number", "boolean"].includes(typeof value);
  function readValue(value, operator, path) {
    const isSet = operator === "in" || operator === "not_in";
    if (isSet && !Array.isArray(value)) return wrong(path, "must be a list");
    if (!isSet && operator !== "equals" && operator !== "not_equals" && (Array.isArray(value) || value === null))
      return wrong(path, "must be a text, a number or true or false");
    const values = Array.isArray(value) ? value : [value];
    if (values.length > VALUES_MAX) return wrong(path, `has more than ${VALUES_MAX} entries`);
    for (const one of values) {
      if (one === void 0 || !isScalar(one)) return wrong(path, "must be given as a text, a number or true or false");
      if (typeof one === "string" && one.length > VALUE_LENGTH_MAX) return wrong(path, `is longer than ${VALUE_LENGTH_MAX} characters`);
    }
    return value;
  }
  var isNull = (actual) => actual === void 0 || actual === null || actual === "" || Array.isArray(actual) && actual.length === 0;
  function testOf(operator, value, path) {
    switch (operator) {
      case "not_equals":
        return not(testOf("equals", value, path));
      case "not_contains":
        return not(testOf("contains", value, path));
      case "not_in":
        return not(testOf("in", value, path));
      case "equals": {
        if (!Array.isArray(value))
          return (actual) => Array.isArray(actual) ? actual.length === 1 && isSame(actual[0], value) : isSame(actual, value);
        const wanted = value.map(keyOf2).sort();
        return (actual) => Array.isArray(actual) && actual.length === wanted.length && String(actual.map(keyOf2).sort()) === String(wanted);
      }
      case "in": {
        const keys = new Set(value.map(keyOf2));
        return any((actual) => keys.has(keyOf2(actual)));
      }
      case "contains": {
        const part = keyOf2(value);
        return (actual) => Array.isArray(actual) ? actual.some((entry) => keyOf2(entry) === part) : !isNull(actual) && keyOf2(actual).includes(part);
      }
      case "starts_with":
      case "ends_with": {
        const part = keyOf2(value);
        return any((actual) => operator === "starts_with" ? keyOf2(actual).startsWith(part) : keyOf2(actual).endsWith(part));
      }
      case "matches": {
        const pattern = compilePattern(value, path);
        const test = any((actual) => pattern.matcher(textOf(actual).slice(0, MATCHED_LENGTH_MAX)).find());
        return Object.assign(test, { steps: pattern.programSize() });
      }
      default:
        return any((actual) => {
          const order = compare(actual, value);
          if (Number.isNaN(order)) return false;
          return operator === "gt" ? order > 0 : operator === "gte" ? order >= 0 : operator === "lt" ? order < 0 : order <= 0;
        });
    }
  }
  var not = (test) => (actual) => !test(actual);
  var any = (test) => (actual) => Array.isArray(actual) ? actual.some((entry) => !isNull(entry) && test(entry)) : !isNull(actual) && test(actual);
  function compilePattern(value, path) {
    if (typeof value !== "string") return wrong(path, "must be a regular expression");
    try {
      return RE2JS.compile(value);
    } catch (error) {
      return wrong(path, `is not a regular expression: ${error.message}`);
    }
  }
  function textOf(value) {
    if (value === null || typeof value !== "object") return String(value);
    for (const name of ["name", "title", "id"]) {
      const member = value[name];
      if (Object.hasOwn(value, name) && typeof member === "string") return member;
    }
    return JSON.stringify(value);
  }
  var COMPARED_LENGTH_MAX = 65536;
  var keyOf2 = (value) => normalizeText(textOf(value), COMPARED_LENGTH_MAX).toLowerCase();
  var isSame = (actual, value) => isNull(actual) ? isNull(value) : value !== null && keyOf2(actual) === keyOf2(value);
  var numberOf = (value) => typeof value === "number" ? value : typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  function compare(actual, value) {
    const [a, b] = [numberOf(actual), numberOf(value)];
    if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
    if (typeof actual === "number" || typeof value === "number") return Number.NaN;
    const [x, y] = [keyOf2(actual), keyOf2(value)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  function checkWork(group, context, path) {
    const work = workOf(group, context);
    if (work <= WORK_MAX) return;
    const message = `would take ${work} steps over this context, more than the limit of ${WORK_MAX}: use fewer rules, or patterns with less repetition`;
    wrong(path, message);
  }
  function workOf(rule, context) {
    if ("rules" in rule) return rule.rules.reduce((sum, one) => sum + workOf(one, context), 0);
    const actual = readPath(context, rule.field);
    const steps = rule.test.steps ?? 1;
    const most = rule.test.steps === void 0 ? Number.POSITIVE_INFINITY : MATCHED_LENGTH_MAX;
    const list = Array.isArray(actual) ? actual : [actual];
    return list.reduce((sum, one) => sum + steps * (1 + Math.min(most, textOf(one).length)), 0);
  }
  function passes(rule, context) {
    if (!("rules" in rule)) return rule.test(readPath(context, rule.field));
    if (rule.rules.length === 0) return true;
    return rule.mode === "all" ? rule.rules.every((one) => passes(one, context)) : rule.rules.some((one) => passes(one, context));
  }
  function explain(rule, context, room) {
    if (!("rules" in rule)) {
      const { test, ...rest } = rule;
      const actual = readPath(context, rule.field);
      return { ...rest, actual: excerptOf(actual, room, 0), passed: test(actual) };
    }
    const rules = rule.rules.map((one) => explain(one, context, room));
    const passed = rules.length === 0 || (rule.mode === "all" ? rules.every((one) => one.passed) : rules.some((one) => one.passed));
    return { mode: rule.mode, passed, rules };
  }
  function excerptOf(value, room, depth) {
    if (value === void 0) return null;
    if (room.length <= 0 || Array.isArray(value) && depth === EXCERPT_DEPTH_MAX) return "…";
    if (Array.isArray(value)) return value.slice(0, EXCERPT_ENTRIES_MAX).map((one) => excerptOf(one, room, depth + 1));
    if (typeof value === "string") {
      room.length -= Math.min(value.length, EXCERPT_LENGTH_MAX);
      return value.length > EXCERPT_LENGTH_MAX ? `${value.slice(0, EXCERPT_LENGTH_MAX).toWellFormed()}…` : value;
    }
    if (value === null || typeof value !== "object") return value;
    const { length } = JSON.stringify(value);
    room.length -= Math.min(length, EXCERPT_LENGTH_MAX * 5);
    return length > EXCERPT_LENGTH_MAX * 5 ? "{…}" : value;
  }

  // ../../../../core/fields/limits.ts
  var NAME_LENGTH_MAX = 500;
  var LIST_LENGTH_MAX = 32 * 1024;
  var CUSTOM_BYTES_MAX = 64 * 1024;
  var COVER_BYTES_MAX = 20 * 1048576;

  // ../../../../core/conditions/title-rewriting.ts
  var STEPS_MAX2 = 3e3;
  var WORK_MAX2 = 2e6;
  var POSITIONS_MAX = 10;
  function checkTitleRules(rules) {
    let steps = 0;
    rules.forEach(({ pattern }, index) => {
      const at = `/titlePreprocessingRules/${index}/pattern`;
      try {
        steps += RE2JS.compile(pattern).programSize();
      } catch (error) {
        if (!(error instanceof RE2JSSyntaxException)) throw error;
        const reason2 = `${error.error} at character ${positionOf(pattern, error) + 1}`;
        refuse("invalid_value", `The pattern "${pattern}" of title rule ${index + 1} is not a regular expression: ${reason2}.`, {
          details: [{ path: at, message: reason2 }]
        });
      }
      if (steps <= STEPS_MAX2) return;
      const reason = `brings the patterns to ${steps} steps, more than the limit of ${STEPS_MAX2}: use less repetition, or fewer rules`;
      refuse("invalid_value", `The pattern of title rule ${index + 1} ${reason}.`, { details: [{ path: at, message: reason }] });
    });
  }
  function positionOf(pattern, wrong2) {
    if (wrong2.error === "missing closing )") return pattern.length;
    const part = wrong2.error === "unexpected )" ? ")" : wrong2.input ?? "";
    let position = pattern.indexOf(part);
    for (let tries = 0; tries < POSITIONS_MAX && position !== -1; tries++) {
      try {
        RE2JS.compile(pattern.slice(0, position + part.length));
      } catch (error) {
        if (error instanceof RE2JSSyntaxException && error.error === wrong2.error) return position;
      }
      position = pattern.indexOf(part, position + 1);
    }
    return Math.max(0, pattern.indexOf(part));
  }
  function compileTitleRules(rules) {
    const steps = (Array.isArray(rules) ? rules : []).flatMap((rule) => {
      try {
        return rule.enabled === false ? [] : [{ pattern: RE2JS.compile(rule.pattern), replacement: rule.replacement }];
      } catch {
        return [];
      }
    });
    const rewrite = (title) => {
      if (steps.length === 0) return title;
      let changed = title;
      for (const { pattern, replacement } of steps) changed = cut(pattern.matcher(changed).replaceAll(replacement));
      return changed.replace(/\s+/g, " ").trim() || title;
    };
    return Object.assign(rewrite, { steps: steps.reduce((sum, { pattern }) => sum + pattern.programSize(), 0) });
  }
  function rewriteSome(rules, titles) {
    const rewrite = compileTitleRules(rules);
    const rewritten = [];
    let work = 0;
    for (const title of titles) {
      work += (title.length + 1) * rewrite.steps;
      if (rewritten.length > 0 && work > WORK_MAX2) break;
      rewritten.push(rewrite(title));
    }
    return rewritten;
  }
  function applyRules(rules, title) {
    let [text, applied] = [title, 0];
    for (const rule of Array.isArray(rules) ? rules : []) {
      const changed = compileTitleRules([rule])(text);
      if (changed !== text) applied++;
      text = changed;
    }
    return { title: text, applied };
  }
  var cut = (title) => title.length <= NAME_LENGTH_MAX ? title : title.slice(0, NAME_LENGTH_MAX).replace(/[\ud800-\udbff]$/, "");

  // main.ts
  function answering(work) {
    return (given) => {
      try {
        return { value: work(given) };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { refused: { message: error.message, details: error.details } };
      }
    };
  }
  register({
    checkCondition: answering(({ condition, path }) => {
      compileCondition(condition, path);
      return null;
    }),
    explain: answering(
      ({ condition, path, context }) => compileCondition(condition, path).explain(context)
    ),
    passes: answering(({ condition, context }) => compileCondition(condition).passes(context)),
    checkTitleRules: answering(({ rules }) => {
      checkTitleRules(rules);
      return null;
    }),
    rewriteSome: answering(({ rules, titles }) => rewriteSome(rules, titles)),
    applyRules: answering(({ rules, title }) => applyRules(rules, title))
  });
})();
