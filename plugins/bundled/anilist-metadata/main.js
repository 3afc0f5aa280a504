// biome-ignore-all lint: built from main.ts
// biome-ignore-all format: built from main.ts
// biome-ignore-all assist: built from main.ts

// ../../plugin-sdk/errors.ts
var hasCode = (error, code) => typeof error === "object" && error !== null && "code" in error && error.code === code;
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

// ../../plugin-sdk/external-ids.ts
function externalIdOf(ids, ...names) {
  const keys = names.flatMap((name) => [`plugin:${name}`, name, `api:${name}`]);
  const key = keys.find((one) => ids !== void 0 && Object.hasOwn(ids, one));
  return key === void 0 ? void 0 : ids?.[key];
}

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

// anilist-metadata/graphql.ts
var SITE = "https://anilist.co";
var ENDPOINT = "https://graphql.anilist.co/";
var WAIT_SECONDS = 60;
var WAIT_SECONDS_MAX = 3600;
var MESSAGE_LENGTH_MAX = 200;
var isRec = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
var listOf = (value) => Array.isArray(value) ? value : [];
var recsOf = (value) => listOf(value).filter(isRec);
var textOf = (value) => typeof value === "string" && value.trim() !== "" ? value.trim() : null;
var numberOf = (value) => typeof value === "number" && Number.isFinite(value) ? value : null;
function idOf(value) {
  const id = typeof value === "string" && /^[1-9]\d{0,9}$/.test(value.trim()) ? Number(value) : numberOf(value);
  return id !== null && Number.isInteger(id) && id > 0 && id <= 2147483647 ? id : null;
}
async function ask(ctx, query, variables) {
  const response = await ctx.fetch(ENDPOINT, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ query: query.replace(/\s+/g, " ").trim(), variables })
  });
  const answer = readJson(await response.text());
  const [first] = recsOf(answer?.["errors"]);
  const errorMessage = (textOf(first?.["message"]) ?? "").replace(/\s+/g, " ").slice(0, MESSAGE_LENGTH_MAX);
  const status = response.ok ? numberOf(first?.["status"]) ?? response.status : response.status;
  const wait = response.headers.get("retry-after");
  if (status === 429 || status === 503 && wait !== null)
    throw new RateLimitError("AniList has reached its rate limit. Try again later.", waitOf(wait));
  if (status === 401 || /\b(invalid token|unauthori[sz]ed)\b/i.test(errorMessage))
    throw new AuthError("AniList no longer accepts the sign-in. Connect your account again.");
  if (status === 404) throw new NotFoundError("AniList has no entry with this identifier.");
  if (!response.ok) throw new UpstreamError(`AniList answered ${response.status}${errorMessage === "" ? "" : `: ${errorMessage}`}.`);
  const data = answer?.["data"];
  if (first !== void 0) throw new UpstreamError(`AniList returned an error${errorMessage === "" ? "" : `: ${errorMessage}`}.`);
  if (!isRec(data)) throw new UpstreamError("AniList returned an unexpected response.");
  return data;
}
function readJson(text) {
  try {
    const value = JSON.parse(text);
    return isRec(value) ? value : null;
  } catch {
    return null;
  }
}
var waitOf = (header) => {
  const seconds = header !== null && /^\s*\d{1,9}\s*$/.test(header) ? Number(header) : WAIT_SECONDS;
  return Math.min(Math.max(seconds, 1), WAIT_SECONDS_MAX);
};

// anilist-metadata/media.ts
var TITLE_LANGUAGES = ["english", "romaji", "native"];
var LIST_MAX = 50;
var TITLE_LENGTH_MAX2 = 500;
var DESCRIPTION_LENGTH_MAX = 2e4;
var ADULT_GENRES = /* @__PURE__ */ new Set(["hentai"]);
var cut = (text, length) => text.slice(0, length).toWellFormed();
var texts = (value) => listOf(value).map(textOf).filter((text) => text !== null).map((text) => cut(text, TITLE_LENGTH_MAX2));
var titled = (media, language) => {
  const title = textOf(isRec(media["title"]) ? media["title"][language] : null);
  return title === null ? null : cut(title, TITLE_LENGTH_MAX2);
};
var titleOf = (media, language) => titled(media, language) ?? titled(media, "english") ?? titled(media, "romaji") ?? titled(media, "userPreferred") ?? titled(media, "native");
var countryOf = (media) => {
  const country = textOf(media["countryOfOrigin"]);
  return country !== null && /^[A-Z]{2}$/.test(country) ? country : null;
};
var LANGUAGES = {
  JP: ["ja", "ja-Latn"],
  KR: ["ko", "ko-Latn"],
  CN: ["zh-Hans", "zh-Latn"],
  TW: ["zh-Hant", "zh-Latn"]
};
function namesOf(media) {
  const [native = null, romanized = null] = LANGUAGES[countryOf(media) ?? ""] ?? [];
  const named = [
    { title: titled(media, "english"), language: "en", label: "English" },
    { title: titled(media, "romaji"), language: romanized, label: "Romaji" },
    { title: titled(media, "native"), language: native, label: "Native" },
    ...texts(media["synonyms"]).map((title) => ({ title, language: null, label: "Synonym" }))
  ];
  const seen = /* @__PURE__ */ new Set();
  return named.filter((name) => name.title !== null).filter(({ title }) => !seen.has(title.toLowerCase()) && seen.add(title.toLowerCase())).slice(0, LIST_MAX);
}
var STATUSES = {
  FINISHED: "ended",
  RELEASING: "ongoing",
  HIATUS: "hiatus",
  CANCELLED: "abandoned",
  NOT_YET_RELEASED: "unknown"
};
var statusOf = (media) => STATUSES[media["status"]] ?? null;
var formatOf = (media) => {
  const format = textOf(media["format"]);
  return format !== null && /^[A-Z_]{1,30}$/.test(format) ? format : null;
};
var isAdult = (media) => media["isAdult"] === true;
var genresOf = (media, withAdult) => texts(media["genres"]).filter((genre) => withAdult || !ADULT_GENRES.has(genre.toLowerCase())).slice(0, LIST_MAX);
function tagsOf(media, { withAdult, rankMin }) {
  return recsOf(media["tags"]).filter((tag) => tag["isMediaSpoiler"] !== true && tag["isGeneralSpoiler"] !== true && (withAdult || tag["isAdult"] !== true)).map((tag) => ({ name: textOf(tag["name"]), category: textOf(tag["category"]), rank: numberOf(tag["rank"]) ?? 0 })).filter((tag) => tag.name !== null && tag.rank >= rankMin).map((tag) => ({ ...tag, name: cut(tag.name, 200), category: tag.category === null ? null : cut(tag.category, 100) })).sort((a, b) => b.rank - a.rank).slice(0, LIST_MAX);
}
var isWeb = (value) => typeof value === "string" && /^https:\/\/[^\s\\]{1,1900}$/.test(value);
function coverOf(media) {
  const cover = isRec(media["coverImage"]) ? media["coverImage"] : {};
  return [cover["extraLarge"], cover["large"]].filter(isWeb).find((url) => !/\/default\.\w{1,5}$/.test(url)) ?? null;
}
var pageOf = (media) => {
  const [url, id] = [media["siteUrl"], idOf(media["id"])];
  return isWeb(url) && url.startsWith(`${SITE}/`) ? url : id === null ? null : `${SITE}/manga/${id}`;
};
var linksOf = (media) => recsOf(media["externalLinks"]).flatMap(({ site, url }) => isWeb(url) ? [{ label: cut(textOf(site) ?? "Link", 100), url }] : []).slice(0, LIST_MAX);
function idsOf(media) {
  const myAnimeList = idOf(media["idMal"]);
  return myAnimeList === null ? {} : { myanimelist: String(myAnimeList) };
}
function yearOf(media) {
  const year = numberOf(isRec(media["startDate"]) ? media["startDate"]["year"] : null);
  return year !== null && Number.isInteger(year) && year >= 1e3 && year <= 2999 ? year : null;
}
var scoreOf = (media) => {
  const score = numberOf(media["averageScore"]) ?? numberOf(media["meanScore"]);
  return score !== null && score > 0 && score <= 100 ? score : null;
};
var countOf = (value) => {
  const count = numberOf(value);
  return count !== null && Number.isInteger(count) && count > 0 ? count : null;
};
var ENTITIES = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  eacute: "é",
  times: "×",
  middot: "·",
  deg: "°"
};
function decode(whole, name) {
  if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? whole;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code >= 32 && code <= 1114111 && !(code >= 55296 && code <= 57343) ? String.fromCodePoint(code) : "";
}
function withoutSpoilers(text) {
  let [shown, rest] = ["", text];
  for (; ; ) {
    const from = rest.indexOf("~!");
    if (from === -1) return shown + rest;
    const to = rest.indexOf("!~", from + 2);
    shown += rest.slice(0, from);
    if (to === -1) return shown;
    rest = rest.slice(to + 2);
  }
}
function descriptionOf(media) {
  const written = textOf(media["description"]);
  if (written === null) return null;
  const lines = withoutSpoilers(written.slice(0, DESCRIPTION_LENGTH_MAX).replace(/\r\n?/g, "\n")).replace(/<(?:br|p|\/p)\b[^<>]{0,100}>/gi, "\n").replace(/<\/?[a-z][^<>]{0,500}>/gi, "").replace(/\[([^\][\n]{1,200})\]\([^()\s]{1,500}\)/g, "$1").replace(/[*_]{2,3}/g, "").replace(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, decode).split("\n").map(
    (line) => line.replace(/[([]\s{0,3}source\b[^()[\]]{0,200}[)\]]/gi, "").replace(/\s+/g, " ").trim()
  ).filter((line) => !/^source\s?:/i.test(line));
  const plain = lines.join("\n").replace(/\n{2,}/g, "\n\n").trim().toWellFormed();
  return plain === "" ? null : plain;
}

// anilist-metadata/people.ts
var PEOPLE_MAX = 50;
var NAME_LENGTH_MAX = 200;
var ROLE_LENGTH_MAX = 100;
var ROLES = [
  [/^story (&|and) art\b|^art (&|and) story\b/, ["writer", "penciller"], ["author", "illustrator"]],
  [/\bassistan(t|ce)\b|\bcharacter design\b|\bcooperation\b|\bsupervis/, ["contributor"], ["contributor"]],
  [/\btranslat/, ["translator"], ["translator"]],
  [/\bletter|\btouch-?up\b/, ["letterer"], ["letterer"]],
  [/\bcover\b/, ["cover_artist"], ["cover_artist"]],
  [/\bedit/, ["editor"], ["editor"]],
  [/\bcolou?r/, ["colorist"], ["colorist"]],
  [/\bink/, ["inker"], ["inker"]],
  [/^original (creator|story|work)\b|^story\b|\bscript\b|^writ|^author\b|^creator\b/, ["writer"], ["author"]],
  [/^art\b|^art(ist|work)\b|^draw|^pencil/, ["penciller"], ["illustrator"]],
  [/\billustrat/, ["illustrator"], ["illustrator"]]
];
var OF_EDITIONS = /* @__PURE__ */ new Set(["translator", "letterer", "editor"]);
function peopleOf(media, language) {
  const isNovel = media["format"] === "NOVEL";
  const people = [];
  for (const { role, node } of recsOf(isRec(media["staff"]) ? media["staff"]["edges"] : null)) {
    const names = isRec(node) && isRec(node["name"]) ? node["name"] : {};
    const name = (textOf(names["full"]) ?? textOf(names["native"]))?.replace(/\s+/g, " ").slice(0, NAME_LENGTH_MAX).toWellFormed();
    if (name === void 0) continue;
    const roleName = (textOf(role) ?? "").slice(0, ROLE_LENGTH_MAX);
    const [, aside = ""] = /\(([^()]*)\)/.exec(roleName) ?? [];
    const known = ROLES.find(
      ([pattern]) => pattern.test(
        roleName.replace(/\([^()]*\)?/g, "").trim().toLowerCase()
      )
    );
    const roles = known === void 0 ? ["contributor"] : isNovel ? known[2] : known[1];
    for (const own of roles) {
      if (OF_EDITIONS.has(own) && /^\p{Lu}\p{L}+/u.test(aside) && aside.split(/[:,\s]/)[0]?.toLowerCase() !== language.toLowerCase())
        continue;
      if (!people.some((person) => person.name === name && person.role === own)) people.push({ name, role: own });
    }
  }
  return people.slice(0, PEOPLE_MAX);
}

// anilist-metadata/main.ts
var SHOWN = `id title { romaji english native userPreferred } synonyms status format startDate { year } countryOfOrigin genres
  description(asHtml: false) coverImage { extraLarge large } averageScore meanScore volumes isAdult`;
var SEARCH = `query ($search: String, $page: Int, $perPage: Int, $isAdult: Boolean) {
  Page(page: $page, perPage: $perPage) {
    pageInfo { hasNextPage }
    media(search: $search, type: MANGA, isAdult: $isAdult, sort: SEARCH_MATCH) { ${SHOWN} }
  }
}`;
var CANDIDATES = `query ($search: String, $perPage: Int, $isAdult: Boolean) {
  Page(page: 1, perPage: $perPage) {
    media(search: $search, type: MANGA, isAdult: $isAdult, sort: SEARCH_MATCH) {
      ${SHOWN} popularity staff(perPage: 8) { edges { role node { name { full native } } } }
    }
  }
}`;
var ONE = `query ($id: Int, $idMal: Int) { Media(id: $id, idMal: $idMal, type: MANGA) { ${SHOWN} } }`;
var WHOLE = `query ($id: Int) {
  Media(id: $id, type: MANGA) {
    ${SHOWN} idMal chapters siteUrl
    tags { name rank category isGeneralSpoiler isMediaSpoiler isAdult }
    staff(perPage: 25, sort: RELEVANCE) { edges { role node { name { full native } } } }
    externalLinks { url site }
  }
}`;
var PAGE_MAX = 50;
var PAGES_MAX = 100;
var QUERY_LENGTH_MAX = 200;
var CANDIDATES_COUNT = 10;
var SEARCHES_MAX = 3;
var SURE = 0.85;
var POSSIBLE = 0.5;
var TIE = 0.02;
var TIE_FACTOR = 0.75;
var TAG_RANK_MIN = 50;
var languageOf = ({ config }) => TITLE_LANGUAGES.find((one) => one === config.titleLanguage) ?? "english";
var adultOf = ({ config }) => config.adult === true ? {} : { isAdult: false };
var round = (value) => Math.round(value * 1e3) / 1e3;
var byRelevance = (a, b) => (b.relevance ?? 0) - (a.relevance ?? 0);
var likeness = (media, title) => Math.max(
  0,
  ...namesOf(media).slice(0, 15).map((name) => titleSimilarity(title, name.title))
);
function resultOf(media, relevance, ctx) {
  const [id, title] = [idOf(media["id"]), titleOf(media, languageOf(ctx))];
  if (id === null || title === null) return null;
  return {
    externalId: String(id),
    title,
    alternateTitles: namesOf(media).map((name) => name.title).filter((name) => name !== title).slice(0, 10),
    year: yearOf(media),
    coverUrl: coverOf(media),
    relevance: round(relevance),
    preview: {
      status: statusOf(media),
      genres: genresOf(media, ctx.config.adult === true).slice(0, 5),
      rating: scoreOf(media),
      description: descriptionOf(media),
      bookCount: countOf(media["volumes"])
    }
  };
}
var searchedFor = (text) => text.replace(/\s+/g, " ").trim().slice(0, QUERY_LENGTH_MAX).toWellFormed();
var idInAddress = (query) => idOf(/^https?:\/\/anilist\.co\/manga\/(\d+)(?:[/?#]|$)/i.exec(query.trim())?.[1]);
async function findOne(variables, ctx) {
  try {
    const { Media: media } = await ask(ctx, ONE, variables);
    return isRec(media) ? media : null;
  } catch (error) {
    if (hasCode(error, "not_found")) return null;
    throw error;
  }
}
async function search({ query, limit, cursor }, ctx) {
  const id = idInAddress(query);
  if (id !== null) {
    const media = await findOne({ id }, ctx);
    const result = media === null ? null : resultOf(media, 1, ctx);
    return { results: result === null ? [] : [result], nextCursor: null };
  }
  const wanted = searchedFor(query);
  if (wanted === "") return { results: [], nextCursor: null };
  const page = cursor !== void 0 && /^[1-9]\d{0,2}$/.test(cursor) ? Number(cursor) : 1;
  const perPage = Math.min(Math.max(Math.floor(limit), 1), PAGE_MAX);
  const data = await ask(ctx, SEARCH, { search: wanted, page, perPage, ...adultOf(ctx) });
  const found = isRec(data["Page"]) ? data["Page"] : {};
  const hasNext = isRec(found["pageInfo"]) && found["pageInfo"]["hasNextPage"] === true;
  const results = recsOf(found["media"]).map((media) => resultOf(media, likeness(media, wanted), ctx)).filter((result) => result !== null).slice(0, perPage);
  ctx.log.debug("searched", { shown: results.length, page });
  return { results: results.sort(byRelevance), nextCursor: hasNext && results.length > 0 && page < PAGES_MAX ? String(page + 1) : null };
}
async function get({ externalId }, ctx) {
  const id = idOf(externalId);
  if (id === null)
    throw new NotFoundError(`"${externalId.slice(0, 100)}" is not an identifier of AniList. Identifiers are numbers such as 30013.`);
  const { Media: media } = await ask(ctx, WHOLE, { id });
  if (!isRec(media)) throw new NotFoundError("AniList has no entry with this identifier.");
  const title = titleOf(media, languageOf(ctx));
  const withAdult = ctx.config.adult === true;
  const score = scoreOf(media);
  return {
    externalId: String(id),
    externalUrl: pageOf({ ...media, id }),
    title,
    alternateTitles: namesOf(media).filter((name) => name.title !== title),
    summary: descriptionOf(media),
    status: statusOf(media),
    year: yearOf(media),
    authors: peopleOf(media, textOf(ctx.config.editionLanguage) ?? "English"),
    genres: genresOf(media, withAdult),
    tags: tagsOf(media, { withAdult, rankMin: numberOf(ctx.config.tagRankMin) ?? TAG_RANK_MIN }).map(({ name }) => name),
    coverUrl: coverOf(media),
    rating: score === null ? null : { score },
    externalLinks: linksOf(media),
    externalIds: idsOf(media),
    readingDirection: directionOf(media),
    ageRating: isAdult(media) ? 18 : null,
    totalVolumeCount: countOf(media["volumes"]),
    totalChapterCount: countOf(media["chapters"])
  };
}
function directionOf(media) {
  if (formatOf(media) === "NOVEL") return null;
  if (recsOf(media["tags"]).some(({ name, rank }) => name === "Long Strip" && (numberOf(rank) ?? 0) >= TAG_RANK_MIN)) return "webtoon";
  return countryOf(media) === "JP" ? "rtl" : null;
}
var NOTHING = { match: null, confidence: 0, alternatives: [] };
async function match(input, ctx) {
  const { title, alternateTitles = [], externalIds = {} } = input;
  const known = await findKnown(externalIds, ctx);
  if (known !== null) return { match: known, confidence: known.relevance ?? 1, alternatives: [] };
  const titles = [...new Set([title, ...alternateTitles].map(searchedFor))].filter((one) => one !== "");
  if (titles.length === 0) return NOTHING;
  const rated = /* @__PURE__ */ new Map();
  for (const wanted of titles.slice(0, SEARCHES_MAX)) {
    const data = await ask(ctx, CANDIDATES, { search: wanted, perPage: CANDIDATES_COUNT, ...adultOf(ctx) });
    for (const media of recsOf(isRec(data["Page"]) ? data["Page"]["media"] : null)) {
      const result = resultOf(media, likelihood(media, titles, input), ctx);
      if (result !== null) rated.set(result.externalId, { result, popularity: numberOf(media["popularity"]) ?? 0 });
    }
    if ([...rated.values()].some(({ result }) => (result.relevance ?? 0) >= SURE)) break;
  }
  const [best, ...others] = [...rated.values()].sort((a, b) => byRelevance(a.result, b.result) || b.popularity - a.popularity).map(({ result }) => result);
  if (best === void 0) return NOTHING;
  const confidence = best.relevance ?? 0;
  if (confidence < POSSIBLE) return { match: null, confidence: 0, alternatives: [best, ...others] };
  const isTie = others.some(({ relevance = 0 }) => relevance >= confidence - TIE);
  return { match: best, confidence: isTie ? round(confidence * TIE_FACTOR) : confidence, alternatives: others };
}
async function findKnown(externalIds, ctx) {
  const id = idOf(externalIdOf(externalIds, "anilist"));
  const own = id === null ? null : await findOne({ id }, ctx);
  if (own !== null) return resultOf(own, 1, ctx);
  const idMal = idOf(externalIdOf(externalIds, "myanimelist", "mal"));
  const other = idMal === null ? null : await findOne({ idMal }, ctx);
  return other === null ? null : resultOf(other, 0.95, ctx);
}
function likelihood(media, titles, { authors = [], year }) {
  const title = Math.max(...titles.slice(0, 10).map((one) => likeness(media, one)));
  const people = [...new Set(peopleOf(media, "").map(({ name }) => name))].slice(0, 10);
  const known = authors.length === 0 || people.length === 0 ? null : Math.max(...authors.slice(0, 5).flatMap((author2) => people.map((name) => titleSimilarity(author2, name))));
  const author = known === null ? 0.95 : known >= 0.6 ? 1 : 0.6;
  const began = yearOf(media);
  const time = !year || began === null || Math.abs(year - began) <= 1 ? 1 : year > began ? 0.96 : 0.8;
  return title * author * time;
}
var main_default = definePlugin({ metadata: { series: { search, get, match } } });
export {
  main_default as default
};
