// biome-ignore-all lint: built from main.ts
// biome-ignore-all format: built from main.ts
// biome-ignore-all assist: built from main.ts

// ../../plugin-sdk/errors.ts
var PluginError = class extends Error {
  code;
  constructor(code, message) {
    super(message);
    this.name = "PluginError";
    this.code = code;
  }
};
var RateLimitError = class extends PluginError {
  retryAfterSeconds;
  constructor(message = "The service has reached its rate limit.", retryAfterSeconds = 60) {
    super("rate_limited", message);
    this.name = "RateLimitError";
    this.retryAfterSeconds = retryAfterSeconds;
  }
};
var NotFoundError = class extends PluginError {
  constructor(message = "There is no entry with this identifier.") {
    super("not_found", message);
    this.name = "NotFoundError";
  }
};
var AuthError = class extends PluginError {
  constructor(message = "The service rejected the credentials.") {
    super("auth", message);
    this.name = "AuthError";
  }
};
var UpstreamError = class extends PluginError {
  constructor(message = "The service failed.") {
    super("upstream", message);
    this.name = "UpstreamError";
  }
};
var ConfigError = class extends PluginError {
  constructor(message) {
    super("config", message);
    this.name = "ConfigError";
  }
};

// ../../plugin-sdk/index.ts
var definePlugin = (plugin) => plugin;

// ../../plugin-sdk/normalize-text.ts
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

// ../../plugin-sdk/text.ts
var LOOSE_MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]/g;
var SPELLED = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ς: "σ" };
var TITLE_LENGTH_MAX = 2e3;
function normalizeTitle(title) {
  const decomposed = normalizeText(title, TITLE_LENGTH_MAX, "NFKD").replace(LOOSE_MARKS, "").toLowerCase();
  const plain = normalizeText(decomposed, decomposed.length, "NFKD").replace(LOOSE_MARKS, "");
  const folded = normalizeText(
    plain.replace(/[ßæœøłđðþıς]/g, (letter) => SPELLED[letter]),
    2 * plain.length
  );
  const words = folded.replace(/[’‘ʼ'`]/g, "").replace(/&/g, " and ").replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim().replace(/^(?:(?:the|an|a) )+/, "");
  return words === "" ? folded.replace(/\s+/g, " ").trim() : words;
}
function titleSimilarity(a, b) {
  const [x, y] = [normalizeTitle(a), normalizeTitle(b)];
  if (x === "" || y === "") return 0;
  if (x === y) return 1;
  return Math.max(pairSimilarity(x, y), wordSimilarity(x, y));
}
function pairSimilarity(a, b) {
  const first = pairsOf(a);
  const second = pairsOf(b);
  const counts = /* @__PURE__ */ new Map();
  for (const pair of first) counts.set(pair, (counts.get(pair) ?? 0) + 1);
  let shared = 0;
  for (const pair of second) {
    const left = counts.get(pair) ?? 0;
    if (left === 0) continue;
    counts.set(pair, left - 1);
    shared += 1;
  }
  return shared === 0 ? 0 : 2 * shared / (first.length + second.length);
}
var pairsOf = (text) => {
  const letters = [...text];
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
};
function wordSimilarity(a, b) {
  const [x, y] = [new Set(a.split(" ")), new Set(b.split(" "))];
  const shared = [...x].filter((word) => y.has(word)).length;
  return 2 * shared / (x.size + y.size);
}
var MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\\.?";
var YEAR = "(\\d{4})";
var DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
var DATES = [
  [/^(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?:t.*)?$/, ([year, month, day]) => [year, month, day]],
  [/^(\d{4})(\d{2})(\d{2})$/, ([year, month, day]) => [year, month, day]],
  [new RegExp(`^${MONTH} ${DAY},? ${YEAR}$`), ([month, day, year]) => [year, month, day]],
  [new RegExp(`^${DAY}\\.? ${MONTH},? ${YEAR}$`), ([day, month, year]) => [year, month, day]],
  [new RegExp(`^${MONTH},? ${YEAR}$`), ([month, year]) => [year, month]],
  [new RegExp(`^${YEAR},? ${MONTH}(?: ${DAY})?$`), ([year, month, day]) => [year, month, day]]
];

// echo/main.ts
var FOUND = 12;
var DISMISSED = "dismissed";
var answering = (method, run) => async (input, ctx) => {
  const { fail = "", failMethod = "", delayMs = 0 } = ctx.config;
  ctx.log.debug("called", { method });
  if (delayMs > 0) await ctx.sleep(delayMs);
  if (failMethod !== "" && failMethod !== method) return await run(input, ctx);
  await failAs(fail, ctx);
  return fail === "invalid_result" ? INVALID : await run(input, ctx);
};
var INVALID = { results: "none", externalId: 1, match: "none", recommendations: null };
async function failAs(way, ctx) {
  switch (way) {
    case "not_found":
      throw new NotFoundError();
    case "rate_limited":
      throw new RateLimitError("The echo is rate limited.", ctx.config.retryAfterSeconds ?? 60);
    case "auth":
      throw new AuthError();
    case "upstream":
      throw new UpstreamError("The echo is unavailable.");
    case "config":
      throw new ConfigError("The configuration demands a failure.");
    case "thrown":
      throw new Error("The echo has a bug.");
    case "permission":
      await ctx.fetch("https://not-granted.example.org/");
      return;
    case "cpu":
      for (; ; ) ;
    case "memory":
      for (const kept = []; ; ) kept.push(new Array(1e4).fill(kept.length));
    case "timeout":
      for (; ; ) await ctx.sleep(6e4);
  }
}
var resultOf = (title, index, { config }) => ({
  externalId: `${index}:${title}`.slice(0, 200),
  title: `${config.prefix ?? ""}${title}${index === 1 ? "" : ` ${index}`}`,
  relevance: 1 / index,
  preview: { status: "ended", genres: ["Echo"], description: `Number ${index} for "${title}".` }
});
function search({ query, limit, cursor }, ctx) {
  const from = cursor === void 0 || !/^\d{1,2}$/.test(cursor) ? 0 : Number(cursor);
  const to = Math.min(from + Math.max(limit, 1), FOUND);
  const results = Array.from({ length: Math.max(to - from, 0) }, (_, index) => resultOf(query, from + index + 1, ctx));
  return { results: query.trim() === "" ? [] : results, nextCursor: to < FOUND && query.trim() !== "" ? String(to) : null };
}
function match({ title, alternateTitles = [] }, ctx) {
  const found = resultOf(title, 1, ctx);
  return {
    match: found,
    confidence: titleSimilarity(title, found.title),
    alternatives: alternateTitles.slice(0, 5).map((other, index) => resultOf(other, index + 2, ctx))
  };
}
function titleOf(externalId) {
  const title = /^\d{1,2}:(.+)$/su.exec(externalId)?.[1];
  if (title === void 0)
    throw new NotFoundError(`"${externalId}" is not an identifier of the echo. Identifiers begin with a number and a colon.`);
  return title;
}
var describe = (externalId, { config, plugin }) => {
  const title = titleOf(externalId);
  return {
    externalId,
    externalUrl: `https://example.org/echo/${encodeURIComponent(externalId)}`,
    title: `${config.prefix ?? ""}${title}`,
    summary: `The summary of "${title}" by ${plugin.id} ${plugin.version}.`,
    year: 2e3 + title.length % 25,
    authors: [{ name: "Echo", role: "author" }],
    genres: ["Echo"],
    tags: [title.toLowerCase()],
    rating: { score: title.length % 101, voteCount: title.length },
    externalIds: { echo: externalId },
    language: "en"
  };
};
async function recommend({ limit, exclude }, ctx) {
  const dismissed = await ctx.storage.get(DISMISSED) ?? [];
  const left = /* @__PURE__ */ new Set([...exclude, ...dismissed]);
  const found = [];
  for (let cursor = null; ; ) {
    const page = await ctx.library.entries({ cursor });
    for (const { seriesId, title = "" } of page.entries) {
      if (left.has(seriesId)) continue;
      found.push({
        externalId: seriesId,
        title: `${ctx.config.prefix ?? ""}${title}`,
        score: 1 / (found.length + 1),
        reason: `It is in your library.`,
        basedOn: [title],
        inLibrary: true
      });
      if (found.length >= limit) return found;
    }
    cursor = page.nextCursor;
    if (cursor === null) return found;
  }
}
var main_default = definePlugin({
  setup(ctx) {
    ctx.log.info("ready", { prefix: ctx.config.prefix ?? "" });
  },
  metadata: {
    series: {
      search: answering("metadata.series.search", search),
      get: answering("metadata.series.get", ({ externalId }, ctx) => ({
        ...describe(externalId, ctx),
        status: "ended",
        readingDirection: "ltr",
        totalVolumeCount: FOUND
      })),
      match: answering("metadata.series.match", match)
    },
    book: {
      search: answering("metadata.book.search", search),
      get: answering("metadata.book.get", ({ externalId }, ctx) => ({
        ...describe(externalId, ctx),
        number: 1,
        pageCount: 100,
        subjects: ["Echo"]
      })),
      match: answering("metadata.book.match", match)
    }
  },
  recommendations: {
    get: answering("recommendations.get", async (request, ctx) => ({
      recommendations: await recommend(request, ctx)
    })),
    refresh: answering("recommendations.refresh", async ({ limit }, ctx) => {
      ctx.progress(0, "Reading the library");
      const recommendations = await recommend({ limit, exclude: [] }, ctx);
      ctx.progress(1, "Done");
      return { recommendations };
    }),
    dismiss: answering("recommendations.dismiss", async ({ externalId }, ctx) => {
      const dismissed = await ctx.storage.get(DISMISSED) ?? [];
      await ctx.storage.set(DISMISSED, [...dismissed.filter((id) => id !== externalId), externalId].slice(-500));
    })
  }
});
export {
  main_default as default
};
