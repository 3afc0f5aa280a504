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

// ../../plugin-sdk/external-ids.ts
function externalIdOf(ids, ...names) {
  const keys = names.flatMap((name) => [`plugin:${name}`, name, `api:${name}`]);
  const key = keys.find((one) => ids !== void 0 && Object.hasOwn(ids, one));
  return key === void 0 ? void 0 : ids?.[key];
}

// ../../plugin-sdk/index.ts
var definePlugin = (plugin) => plugin;

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
var TITLE_LENGTH_MAX = 500;
var DESCRIPTION_LENGTH_MAX = 2e4;
var ADULT_GENRES = /* @__PURE__ */ new Set(["hentai"]);
var cut = (text, length) => text.slice(0, length).toWellFormed();
var texts = (value) => listOf(value).map(textOf).filter((text) => text !== null).map((text) => cut(text, TITLE_LENGTH_MAX));
var titled = (media, language) => {
  const title = textOf(isRec(media["title"]) ? media["title"][language] : null);
  return title === null ? null : cut(title, TITLE_LENGTH_MAX);
};
var titleOf = (media, language) => titled(media, language) ?? titled(media, "english") ?? titled(media, "romaji") ?? titled(media, "userPreferred") ?? titled(media, "native");
var countryOf = (media) => {
  const country = textOf(media["countryOfOrigin"]);
  return country !== null && /^[A-Z]{2}$/.test(country) ? country : null;
};
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

// stored-recommendations.ts
var STORED_LENGTH_MAX = 24e4;
var STORED_SECONDS = 30 * 86400;
var DISMISSED_MAX = 5e3;
var STORED = "kept";
var DISMISSED = "dismissed";
function storedRecommendations(compute2) {
  let dismissing = Promise.resolve();
  return {
    async get({ limit, exclude }, ctx) {
      const stored = await ctx.storage.get(STORED);
      const dismissed = /* @__PURE__ */ new Set([...await readDismissed(ctx), ...exclude]);
      return answerOf(Array.isArray(stored) ? stored : await gather(ctx, compute2), limit, (id) => dismissed.has(id));
    },
    async refresh({ limit }, ctx) {
      return answerOf(await gather(ctx, compute2), limit, () => false);
    },
    async dismiss({ externalId }, ctx) {
      const add = async () => {
        const before = await readDismissed(ctx);
        if (!before.includes(externalId)) await ctx.storage.set(DISMISSED, [...before, externalId].slice(-DISMISSED_MAX));
      };
      const added = dismissing.then(add);
      dismissing = added.catch(() => {
      });
      await added;
      return null;
    }
  };
}
async function readDismissed(ctx) {
  const stored = await ctx.storage.get(DISMISSED);
  return Array.isArray(stored) ? stored.filter((id) => typeof id === "string") : [];
}
async function gather(ctx, compute2) {
  const found = await compute2(ctx, new Set(await readDismissed(ctx)));
  let stored = found;
  while (stored.length > 0 && JSON.stringify(stored).length > STORED_LENGTH_MAX) stored = stored.slice(0, Math.floor(stored.length * 0.8));
  try {
    await ctx.storage.set(STORED, stored, { ttlSeconds: STORED_SECONDS });
  } catch (error) {
    ctx.log.warn("Could not store the recommendations", String(error));
  }
  ctx.progress(1);
  return found;
}
var answerOf = (recommendations, limit, isExcluded) => ({
  recommendations: recommendations.filter(({ externalId }) => !isExcluded(externalId)).slice(0, Math.max(0, Math.floor(limit)))
});

// anilist-recommendations/seeds.ts
var LIBRARY_PAGES_MAX = 125;
var LIST_CHUNKS_MAX = 6;
var SEEDS_MAX = 40;
var TITLE_LENGTH_MAX2 = 150;
var LIKED_MIN = 50;
var WEIGHT_MIN = 0.2;
var UNRATED = { read: 0.5, begun: 0.3 };
var DAY_MS = 864e5;
var HALF_LIFE_DAYS = 365;
var VIEWER = "query { Viewer { id } }";
var LIST = `query ($userId: Int, $chunk: Int) {
  MediaListCollection(userId: $userId, type: MANGA, chunk: $chunk, perChunk: 500) {
    hasNextChunk
    lists { entries { mediaId status score(format: POINT_100) updatedAt media { title { english romaji native userPreferred } } } }
  }
}`;
var shorten = (title) => title.replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH_MAX2).toWellFormed();
async function readTaste(ctx, withList) {
  const all = await readLibrary(ctx);
  const planned = /* @__PURE__ */ new Set();
  if (withList) {
    const list = await readList(ctx);
    all.push(...list.known);
    for (const id of list.planned) planned.add(id);
  }
  return { ...weigh(all), planned };
}
async function readLibrary(ctx) {
  const known = [];
  let cursor = null;
  for (let page = 0; page < LIBRARY_PAGES_MAX; page++) {
    const answer = await ctx.library.entries({ cursor });
    for (const entry of answer.entries) {
      const one = knownOf(entry);
      if (one !== null) known.push(one);
    }
    cursor = answer.nextCursor;
    if (cursor === null) return known;
  }
  ctx.log.warn("The library is too large to read completely; the rest was left out.", { pages: LIBRARY_PAGES_MAX });
  return known;
}
function knownOf({ externalIds = {}, title, rating, booksRead = 0, booksStarted = 0, lastReadAt }) {
  const id = idOf(externalIdOf(externalIds, "anilist"));
  const score = numberOf(rating);
  const state = booksRead > 0 ? "read" : booksStarted > 0 ? "begun" : "untouched";
  if (id === null || score === null && state === "untouched") return null;
  return { id, title: textOf(title), rating: score, state, at: typeof lastReadAt === "string" ? Date.parse(lastReadAt) || null : null };
}
var STATES = {
  COMPLETED: "read",
  REPEATING: "read",
  CURRENT: "begun",
  PAUSED: "begun",
  DROPPED: "dropped"
};
async function readList(ctx) {
  const { Viewer: viewer } = await ask(ctx, VIEWER, {});
  const userId = isRec(viewer) ? idOf(viewer["id"]) : null;
  const [known, planned] = [[], []];
  for (let chunk = 1; userId !== null && chunk <= LIST_CHUNKS_MAX; chunk++) {
    ctx.progress(0.05 * chunk, "Reading your list at AniList");
    const { MediaListCollection: list } = await ask(ctx, LIST, { userId, chunk });
    if (!isRec(list)) break;
    for (const entry of recsOf(list["lists"]).flatMap(({ entries }) => recsOf(entries))) {
      const id = idOf(entry["mediaId"]);
      if (id === null) continue;
      if (entry["status"] === "PLANNING") planned.push(id);
      const state = STATES[String(entry["status"])];
      if (state === void 0) continue;
      const [score, updatedAt] = [numberOf(entry["score"]), numberOf(entry["updatedAt"])];
      known.push({
        id,
        state,
        title: isRec(entry["media"]) ? titleOf(entry["media"], "english") : null,
        // 0 means not rated.
        rating: score !== null && score > 0 ? Math.min(score, 100) : null,
        at: updatedAt !== null && updatedAt > 0 ? updatedAt * 1e3 : null
      });
    }
    if (list["hasNextChunk"] !== true) break;
  }
  return { known, planned };
}
function weigh(all) {
  const now = Date.now();
  const seeds = /* @__PURE__ */ new Map();
  const disliked = /* @__PURE__ */ new Set();
  for (const { id, title, rating, state, at } of all) {
    if (state === "dropped" || rating !== null && rating < LIKED_MIN) {
      disliked.add(id);
      continue;
    }
    const liking = rating === null ? UNRATED[state === "read" ? "read" : "begun"] : Math.max((rating - LIKED_MIN) / (100 - LIKED_MIN), WEIGHT_MIN);
    const days = at === null ? HALF_LIFE_DAYS : Math.max((now - at) / DAY_MS, 0);
    const weight = liking * (0.5 + 0.5 * 2 ** (-days / HALF_LIFE_DAYS));
    const before = seeds.get(id);
    seeds.set(id, {
      id,
      // The title in the library comes first: the user knows it.
      title: before?.title || shorten(title ?? ""),
      weight: Math.max(before?.weight ?? 0, weight),
      isRead: (before?.isRead ?? false) || state !== "untouched"
    });
  }
  const liked = [...seeds.values()].filter(({ id }) => !disliked.has(id));
  liked.sort((a, b) => b.weight - a.weight || a.id - b.id);
  return { seeds: liked.slice(0, SEEDS_MAX), known: new Set(all.map(({ id }) => id)) };
}

// anilist-recommendations/community.ts
var SEEDS_EACH = 10;
var DETAILS_EACH = 50;
var VOTES_MAX = 25;
var FRESH_MS = 7 * 864e5;
var KEPT_MAX = 3 * SEEDS_MAX;
var KEPT = "communities";
var KEPT_SECONDS = 30 * 86400;
var ENOUGH_VOTES = 20;
var SEEDS_NAMED_MAX = 5;
var VOTES = `query ($ids: [Int], $perPage: Int) {
  Page(page: 1, perPage: $perPage) {
    media(id_in: $ids, type: MANGA) {
      id title { english romaji native userPreferred }
      recommendations(sort: RATING_DESC, perPage: ${VOTES_MAX}) { nodes { rating mediaRecommendation { id type isAdult } } }
    }
  }
}`;
var DETAILS = `query ($ids: [Int], $perPage: Int) {
  Page(page: 1, perPage: $perPage) {
    media(id_in: $ids, type: MANGA) {
      id idMal title { english romaji native userPreferred } description(asHtml: false) status format chapters volumes startDate { year }
      countryOfOrigin genres tags { name rank category isGeneralSpoiler isMediaSpoiler isAdult } coverImage { extraLarge large }
      averageScore meanScore popularity isAdult siteUrl
    }
  }
}`;
var mediaOf = (data) => recsOf(isRec(data["Page"]) ? data["Page"]["media"] : null);
function* groups(items, size) {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
function readKept(kept) {
  const communities = /* @__PURE__ */ new Map();
  for (const [key, one] of Object.entries(isRec(kept) ? kept : {})) {
    const id = idOf(key);
    if (id === null || !isRec(one) || !Array.isArray(one["votes"])) continue;
    const votes = one["votes"].filter(
      (vote) => Array.isArray(vote) && idOf(vote[0]) !== null && numberOf(vote[1]) !== null
    );
    communities.set(id, { at: numberOf(one["at"]) ?? 0, title: String(one["title"] ?? ""), votes });
  }
  return communities;
}
async function findCommunities(seeds, ctx) {
  const now = Date.now();
  const known = readKept(await ctx.storage.get(KEPT));
  const isFresh = (one) => one !== void 0 && one.at <= now && now - one.at < FRESH_MS;
  const wanted = seeds.filter(({ id }) => !isFresh(known.get(id))).map(({ id }) => id);
  let requested = 0;
  for (const ids of groups(wanted, SEEDS_EACH)) {
    ctx.progress(0.35 + 0.35 * requested / wanted.length, "Requesting recommendations");
    const found = new Map(mediaOf(await ask(ctx, VOTES, { ids, perPage: SEEDS_EACH })).map((media) => [idOf(media["id"]), media]));
    for (const id of ids) {
      const media = found.get(id);
      known.delete(id);
      known.set(id, {
        at: now,
        title: media === void 0 ? "" : titleOf(media, "english") ?? "",
        votes: media === void 0 ? [] : votesOf(media)
      });
    }
    requested += ids.length;
    await keep([...known].slice(-KEPT_MAX), ctx);
  }
  return known;
}
async function keep(communities, ctx) {
  try {
    await ctx.storage.set(KEPT, Object.fromEntries(communities), { ttlSeconds: KEPT_SECONDS });
  } catch (error) {
    ctx.log.warn("Could not cache the recommendations", String(error));
  }
}
var votesOf = (media) => recsOf(isRec(media["recommendations"]) ? media["recommendations"]["nodes"] : null).flatMap(
  ({ rating, mediaRecommendation: other }) => {
    const [id, votes] = [isRec(other) && other["type"] === "MANGA" ? idOf(other["id"]) : null, numberOf(rating) ?? 0];
    return id === null || votes <= 0 ? [] : [[id, votes]];
  }
);
async function findCandidates(seeds, { isExcluded, max }, ctx) {
  const communities = await findCommunities(seeds, ctx);
  const shares = /* @__PURE__ */ new Map();
  for (const seed of seeds) {
    const { votes, title } = communities.get(seed.id) ?? { votes: [], title: "" };
    const most = Math.max(ENOUGH_VOTES, ...votes.map(([, rating]) => rating));
    for (const [id, rating] of votes) {
      if (isExcluded(id) || id === seed.id) continue;
      const share = seed.weight * Math.log1p(rating) / Math.log1p(most);
      const before = shares.get(id) ?? { total: 0, from: [] };
      before.from.push({ seed: { ...seed, title: seed.title || title }, share });
      shares.set(id, { total: before.total + share, from: before.from });
    }
  }
  const best = Math.max(0, ...[...shares.values()].map(({ total }) => total));
  return [...shares].map(([id, { total, from }]) => ({
    id,
    score: Math.round(total / best * 1e4) / 1e4,
    seeds: from.filter(({ seed }) => seed.title !== "").sort((a, b) => b.share - a.share).slice(0, SEEDS_NAMED_MAX).map(({ seed }) => seed)
  })).filter((candidate) => candidate.seeds.length > 0).sort((a, b) => b.score - a.score || a.id - b.id).slice(0, max);
}
async function findDetails(ids, ctx) {
  const found = /* @__PURE__ */ new Map();
  for (const some of groups(ids, DETAILS_EACH)) {
    ctx.progress(0.7 + 0.3 * found.size / ids.length, "Requesting details");
    for (const media of mediaOf(await ask(ctx, DETAILS, { ids: some, perPage: DETAILS_EACH }))) {
      const id = idOf(media["id"]);
      if (id !== null) found.set(id, media);
    }
  }
  return found;
}

// anilist-recommendations/main.ts
var KEPT_MAX2 = 150;
var SUMMARY_LENGTH_MAX = 1e3;
var TAGS_MAX = 15;
var TAG_RANK_MIN = 60;
var NAMES_IN_REASON = 3;
var listed = (names) => names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
var reasonOf = (seeds) => {
  const named = seeds.slice(0, NAMES_IN_REASON);
  return `Because you ${named.every(({ isRead }) => isRead) ? "read" : "liked"} ${listed(named.map(({ title }) => title))}`;
};
function shorten2(text) {
  if (text === null || text.length <= SUMMARY_LENGTH_MAX) return text;
  const cut2 = text.slice(0, SUMMARY_LENGTH_MAX).toWellFormed();
  const end = cut2.lastIndexOf(" ");
  return `${end > SUMMARY_LENGTH_MAX / 2 ? cut2.slice(0, end) : cut2}…`;
}
function recommend({ id, score, seeds }, media, isPlanned, ctx) {
  const withAdult = ctx.config["adult"] === true && ctx.userConfig["adult"] === true;
  const title = titleOf(media, TITLE_LANGUAGES.find((one) => one === ctx.userConfig["titleLanguage"]) ?? "english");
  if (title === null || isAdult(media) && !withAdult) return null;
  return {
    externalId: String(id),
    title,
    externalUrl: pageOf(media),
    coverUrl: coverOf(media),
    summary: shorten2(descriptionOf(media)),
    genres: genresOf(media, withAdult),
    tags: tagsOf(media, { withAdult, rankMin: TAG_RANK_MIN }).slice(0, TAGS_MAX),
    score,
    reason: reasonOf(seeds),
    basedOn: [...new Set(seeds.map((seed) => seed.title))],
    inLibrary: isPlanned,
    status: statusOf(media),
    format: formatOf(media),
    countryOfOrigin: countryOf(media),
    startYear: yearOf(media),
    rating: scoreOf(media),
    popularity: numberOf(media["popularity"]),
    totalVolumeCount: countOf(media["volumes"]),
    totalChapterCount: countOf(media["chapters"]),
    externalIds: { anilist: String(id), ...idsOf(media) }
  };
}
async function compute(ctx, dismissed) {
  const signIn = await ctx.auth.status();
  const withList = signIn === "connected" || signIn === "expired";
  const { seeds, known, planned } = await readTaste(ctx, withList);
  ctx.log.info("Read the taste of the user", { seeds: seeds.length, known: known.size, planned: planned.size, withList });
  if (seeds.length === 0) {
    if (!withList)
      throw new AuthError(
        "Nothing that you have read or rated here has an AniList identifier. Connect your AniList account to use your list there."
      );
    return [];
  }
  const isExcluded = (id) => known.has(id) || dismissed.has(String(id));
  const candidates = await findCandidates(seeds, { isExcluded, max: KEPT_MAX2 }, ctx);
  const details = await findDetails(
    candidates.map(({ id }) => id),
    ctx
  );
  return candidates.flatMap((candidate) => {
    const media = details.get(candidate.id);
    const one = media === void 0 ? null : recommend(candidate, media, planned.has(candidate.id), ctx);
    return one === null ? [] : [one];
  });
}
var main_default = definePlugin({ recommendations: storedRecommendations(compute) });
export {
  main_default as default
};
