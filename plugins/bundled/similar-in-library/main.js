// biome-ignore-all lint: built from main.ts
// biome-ignore-all format: built from main.ts
// biome-ignore-all assist: built from main.ts

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
function firstCharacters(run, count2) {
  let end = 0;
  for (let left = count2; left > 0 && end < run.length; left--) end += run.codePointAt(end) > 65535 ? 2 : 1;
  return run.slice(0, end);
}
function normalizeText(text, max, form = "NFC") {
  const start = cutText(text, max);
  return ASCII.test(start) ? start : boundMarks(start).normalize(form);
}

// ../../plugin-sdk/text.ts
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

// similar-in-library/words.ts
var STOP_WORDS = new Set(
  [
    "a about after again all also an and any are as at back be because been before being between both but by can come could did do does down each even ever every find finds first for from get gets go has have he her here him his how if in into is it its just know less life like made make makes many may me more most much must my new no not now of off old on one only or other our out over own she should so some soon still such take takes than that the their them then there these they this those through time to too two under until up upon very was way we well were what when where which while who whose why will with without world would year years you young your",
    "book books chapter chapters edition series story stories tale tales volume volumes vol",
    "aber als am an auch auf aus bei bis dann das dass dem den der des die dies diese dieser doch du durch ein eine einem einen einer eines er es für gegen hat haben ich ihm ihn ihr ihre ihrer im in ist jetzt kann kein mehr mit muss nach nicht noch nun nur oder ohne sein seine seinem seinen seiner sich sie sind so über um und uns unter vom von vor war was wenn wer werden wie wird wo zu zum zur zwischen",
    "alors au aux avec ce cet cette ces comme dans de des deux du elle elles en est et être eux fait il ils je la le les leur leurs lui mais même ne nous on ont ou où par pas plus pour quand que qui sa sans se ses si son sont sous sur tout tous très un une va vie vous",
    "al algo ante antes como con cuando de del desde donde dos el ella ellos en entre era es esta este fue ha hasta hay la las le lo los más muy ni no nos o otra otro para pero por porque que quien se ser si sin sobre son su sus también tan tiene todo todos un una uno y ya",
    "ao aos até com como da das de do dos e ela ele em então entre essa esse está foi isso já mais mas mesmo muito na nas no nos não num numa os ou para pela pelo por quando que quem se sem ser seu seus sua suas são também tem um uma",
    "ai al alla anche che chi ci come con cui da dal dalla dei del della delle di dove due e è gli ha i il in io la le lei lo loro lui ma nel nella non o per più però quando quella questo sono su sua suo tra tutti un una uno",
    "aan als bij dan dat de deze die dit door een en er haar had heb heeft het hij hun in is maar meer met naar niet nog of om ook op over te tot uit van voor waar wat worden wordt ze zich zijn zij",
    "без бы был была было быть в вас во вот все всё вы где для до его ее её если есть еще же за и из или им их к как когда кто ли мы на над не него нет но о об он она они от по под при с со так то того только ты у что чтобы это я"
  ].flatMap((words) => words.split(" "))
);
var SPACELESS = /^[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]/;
var WORD = /[\p{L}\p{M}\p{N}]+/gu;
var MARKUP = /<[^<>]{1,200}>|&[a-z]{2,8};|https?:\/\/\S+/gi;
var WORD_LENGTH_MIN = 3;
var WORD_LENGTH_MAX = 40;
var WORD_BUCKETS = 1 << 19;
function bucketOf(word) {
  let hash = 2166136261;
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 16777619);
  return (hash ^ hash >>> 13) & WORD_BUCKETS - 1;
}
function eachWord(text, lengthMax, onWord) {
  const plain = normalizeText(text.slice(0, lengthMax).replace(MARKUP, " "), lengthMax, "NFKC").toLowerCase();
  for (const word of plain.match(WORD) ?? []) {
    if (word.charCodeAt(0) >= 3584 && SPACELESS.test(word)) {
      for (let index = 1; index < Math.min(word.length, lengthMax); index++) onWord(bucketOf(word.slice(index - 1, index + 1)));
      continue;
    }
    if (word.length < WORD_LENGTH_MIN || word.length > WORD_LENGTH_MAX || STOP_WORDS.has(word)) continue;
    onWord(bucketOf(word.length > 4 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word));
  }
}

// similar-in-library/vectors.ts
var FIELDS = ["word", "person", "genre", "tag", "language"];
var WORD2 = FIELDS.indexOf("word");
var PERSON = FIELDS.indexOf("person");
var FIELD_WEIGHTS = { word: 0.9, person: 1, genre: 0.9, tag: 1, language: 0.5 };
var WORDS_KEPT = 40;
var SHARE_MAX = 0.4;
var SMALL = 100;
var UNKNOWN = 0.7;
var TIMES_MAX = 255;
function countSpread({ terms, starts, fieldOfName }) {
  const spread2 = new Uint32Array(WORD_BUCKETS + fieldOfName.length);
  const end = starts[starts.length - 1];
  for (let at = 0; at < end; at++) spread2[terms[at]] += 1;
  return spread2;
}
function raritiesOf(spread2, size) {
  const most = size > SMALL ? size * SHARE_MAX : size;
  const rarest = Math.log(size + 1);
  const rarities = new Float32Array(spread2.length);
  for (let term = 0; term < spread2.length; term++) {
    const has = spread2[term];
    if (has > 1 && has <= most) rarities[term] = Math.log((size + 1) / has) / rarest;
  }
  return rarities;
}
function weighTerms(counted, spread2) {
  const { terms, times, starts, fieldOfName } = counted;
  const size = starts.length - 1;
  const rarities = raritiesOf(spread2, size);
  const often = Float32Array.from({ length: TIMES_MAX + 1 }, (_, count2) => 1 + Math.log(Math.max(count2, 1)));
  const weights = new Float32Array(starts[size]);
  const ends = new Uint32Array(size + 1);
  const numbers = new Uint32Array(spread2.length);
  const isPerson = [];
  const counts = new Uint32Array(FIELDS.length);
  const scales = new Float32Array(FIELDS.length);
  const words = new Float32Array(starts.reduce((longest, start, index) => Math.max(longest, (starts[index + 1] ?? start) - start), 0));
  let to = 0;
  for (let index = 0; index < size; index++) {
    const [from, end] = [starts[index], starts[index + 1]];
    counts.fill(0);
    for (let at = from; at < end; at++) {
      const term = terms[at];
      const weight = rarities[term] * often[times[at]];
      weights[at] = weight;
      if (weight === 0) continue;
      const field = term < WORD_BUCKETS ? WORD2 : fieldOfName[term - WORD_BUCKETS];
      if (field === WORD2) words[counts[WORD2]] = weight;
      counts[field] += 1;
    }
    let least = 0;
    let room = counts[WORD2];
    if (room > WORDS_KEPT) {
      const sorted = words.subarray(0, room).sort();
      least = sorted[room - WORDS_KEPT];
      room = WORDS_KEPT;
      for (let at = sorted.length - 1; sorted[at] > least; at--) room -= 1;
      counts[WORD2] = WORDS_KEPT;
    }
    for (const [field, name] of FIELDS.entries()) scales[field] = FIELD_WEIGHTS[name] / Math.sqrt(counts[field]);
    let square = UNKNOWN ** 2;
    const begin = to;
    for (let at = from; at < end; at++) {
      const weight = weights[at];
      if (weight === 0) continue;
      const term = terms[at];
      const field = term < WORD_BUCKETS ? WORD2 : fieldOfName[term - WORD_BUCKETS];
      if (field === WORD2 && (weight < least || weight === least && room-- <= 0)) continue;
      if (numbers[term] === 0) numbers[term] = isPerson.push(field === PERSON);
      terms[to] = numbers[term] - 1;
      weights[to] = weight * scales[field];
      square += weights[to] ** 2;
      to += 1;
    }
    const length = Math.sqrt(square);
    for (let at = begin; at < to; at++) weights[at] /= length;
    ends[index + 1] = to;
  }
  return { starts: ends, terms, weights, termsEnd: isPerson.length, isPerson: (term) => isPerson[term] === true };
}

// similar-in-library/catalog.ts
var COUNT_MAX = { person: 12, genre: 24, tag: 48, word: 100, language: 1 };
var NAME_LENGTH_MAX = 200;
var TITLE_LENGTH_MAX = 200;
var TEXT_LENGTH_MAX = 600;
var TITLE_WORD = 2;
var NAMES_MAX = 2e5;
var GROWTH = 1.5;
function openTerms() {
  let terms = new Uint32Array(1 << 16);
  let times = new Uint8Array(1 << 16);
  let length = 0;
  return {
    add(term, often) {
      if (length === terms.length) {
        const [moreTerms, moreTimes] = [new Uint32Array(length * GROWTH), new Uint8Array(length * GROWTH)];
        moreTerms.set(terms);
        moreTimes.set(times);
        terms = moreTerms;
        times = moreTimes;
      }
      terms[length] = term;
      times[length++] = Math.min(often, 255);
    },
    terms: () => terms,
    times: () => times,
    length: () => length
  };
}
var texts = (value, countMax) => Array.isArray(value) ? value.filter((entry) => typeof entry === "string" && entry.trim() !== "" && entry.length <= NAME_LENGTH_MAX).slice(0, countMax) : [];
var count = (value) => typeof value === "number" && value > 0 ? Math.floor(value) : 0;
var percent = (value) => typeof value === "number" ? Math.min(Math.max(value, 0), 100) : null;
var moment = (value) => typeof value === "string" ? Date.parse(value) || 0 : 0;
function seriesOf(entry) {
  const { seriesId, title = "", year, status, bookCount, booksRead, booksStarted, rating } = entry;
  return {
    id: seriesId,
    title: title.replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH_MAX).toWellFormed(),
    year: typeof year === "number" ? year : null,
    status: status ?? null,
    genres: texts(entry.genres, COUNT_MAX.genre),
    tags: texts(entry.tags, COUNT_MAX.tag),
    authors: texts(entry.authors, COUNT_MAX.person),
    bookCount: count(bookCount),
    booksRead: count(booksRead),
    booksStarted: Math.max(count(booksStarted), count(booksRead)),
    rating: percent(rating),
    lastReadAt: moment(entry.lastReadAt),
    addedAt: moment(entry.addedAt),
    communityRating: percent(entry.communityRating),
    readers: count(entry.readers)
  };
}
var keyOf = (field, name) => `${field}:${normalizeText(name, NAME_LENGTH_MAX, "NFKC").toLowerCase().replace(/\s+/g, " ").trim()}`;
var CatalogBuilder = class {
  #series = [];
  #names = /* @__PURE__ */ new Map();
  #fieldOfName = [];
  #found = openTerms();
  #starts = [0];
  add(entries) {
    for (const entry of entries) {
      const series = seriesOf(entry);
      this.#series.push(series);
      for (const [term, times] of this.#termsOf(series, entry)) this.#found.add(term, times);
      this.#starts.push(this.#found.length());
    }
  }
  close() {
    const counted = {
      terms: this.#found.terms(),
      times: this.#found.times(),
      starts: Uint32Array.from(this.#starts),
      fieldOfName: Uint8Array.from(this.#fieldOfName)
    };
    const spread2 = countSpread(counted);
    return {
      ...weighTerms(counted, spread2),
      series: this.#series,
      countOf: (field, name) => spread2[this.#names.get(keyOf(field, name)) ?? spread2.length] ?? 0
    };
  }
  /** The terms of one series, with their counts. */
  #termsOf(series, { language, summary }) {
    const own = /* @__PURE__ */ new Map();
    const addNames = (field, names) => {
      for (const name of names) {
        const term = this.#termOf(field, name);
        if (term !== null) own.set(term, 1);
      }
    };
    addNames("person", series.authors);
    addNames("genre", series.genres);
    addNames("tag", series.tags);
    if (typeof language === "string") addNames("language", [language.split("-")[0].slice(0, 8)]);
    const named = own.size;
    const word = (times) => (bucket) => {
      const before = own.get(bucket);
      if (before !== void 0 || own.size - named < COUNT_MAX.word) own.set(bucket, (before ?? 0) + times);
    };
    eachWord(series.title, TITLE_LENGTH_MAX, word(TITLE_WORD));
    if (typeof summary === "string") eachWord(summary, TEXT_LENGTH_MAX, word(1));
    return own;
  }
  #termOf(field, name) {
    const key = keyOf(field, name);
    const known = this.#names.get(key);
    if (known !== void 0) return known;
    if (this.#names.size >= NAMES_MAX) return null;
    const term = WORD_BUCKETS + this.#fieldOfName.length;
    this.#names.set(key, term);
    this.#fieldOfName.push(FIELDS.indexOf(field));
    return term;
  }
};

// similar-in-library/taste.ts
var DAY_MS = 864e5;
var LEFT_AFTER_DAYS = 90;
var LEFT_SHARE_MAX = 0.5;
var HALF_LIFE_DAYS = 240;
var FADES = 0.5;
var USUAL_RATING = 60;
var USUAL_WEIGHT = 4;
var OWN_MIDDLE = { min: 45, max: 70 };
var LEFT_STRENGTH = -0.35;
var BEGUN_STRENGTH = 0.35;
var UNREAD_STRENGTH = 0.7;
var isKnown = ({ booksStarted, rating }) => booksStarted > 0 || rating !== null;
function readTaste(series) {
  const ratings = series.flatMap(({ rating }) => rating === null ? [] : [rating]);
  const sum = ratings.reduce((total, rating) => total + rating, USUAL_RATING * USUAL_WEIGHT);
  const middle = Math.min(Math.max(sum / (ratings.length + USUAL_WEIGHT), OWN_MIDDLE.min), OWN_MIDDLE.max);
  const latest = series.reduce((last, { lastReadAt }) => Math.max(last, lastReadAt), 0);
  const likings = [];
  for (const [index, one] of series.entries()) {
    if (!isKnown(one)) continue;
    const { booksStarted, booksRead, bookCount, rating, lastReadAt } = one;
    const days = lastReadAt === 0 ? 0 : (latest - lastReadAt) / DAY_MS;
    const share = booksStarted === 0 ? 0 : Math.min(booksRead / Math.max(bookCount, 1), 1);
    const finished = share >= 1;
    const left = !finished && booksStarted > 0 && share < LEFT_SHARE_MAX && days > LEFT_AFTER_DAYS;
    const state = booksStarted === 0 ? "rated" : finished ? "finished" : left ? "left" : "reading";
    const read = left ? LEFT_STRENGTH : booksStarted === 0 ? UNREAD_STRENGTH : BEGUN_STRENGTH + (1 - BEGUN_STRENGTH) * share;
    const said = rating === null ? null : rating >= middle ? (rating - middle) / (100 - middle) : (rating - middle) / middle;
    const strength = said === null ? read * 0.7 : 0.8 * said + 0.2 * read;
    const fresh = 1 - FADES + FADES * 2 ** (-days / HALF_LIFE_DAYS);
    likings.push({ index, strength: strength * fresh, state });
  }
  return likings.sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength) || a.index - b.index);
}

// similar-in-library/ranking.ts
var SHORTLIST = 500;
var LIKINGS_MAX = 1e3;
var LIKENESS_POWER = 1.4;
var NEXT_CAUSE = 0.85;
var CAUSES_MAX = 40;
var MERIT_WEIGHT = 0.3;
var SAMENESS = 0.4;
var SAME_PERSON = 0.15;
var SCORE_STEEPNESS = 2.5;
var NO_RATING = 0.5;
function rank(catalog, likings, isExcluded) {
  const { series, starts, terms, weights, termsEnd } = catalog;
  const profile = new Float32Array(termsEnd);
  for (const { index, strength } of likings)
    for (let at = starts[index]; at < starts[index + 1]; at++) profile[terms[at]] += strength * weights[at];
  const meritOf = merits(catalog);
  const rough = [];
  for (const [index, one] of series.entries()) {
    if (isKnown(one) || one.bookCount === 0 || isExcluded(one.id)) continue;
    let affinity = 0;
    for (let at = starts[index]; at < starts[index + 1]; at++) affinity += profile[terms[at]] * weights[at];
    const merit = meritOf(index);
    rough.push({ index, merit, worth: affinity + merit * MERIT_WEIGHT });
  }
  const byId = (a, b) => series[a.index].id < series[b.index].id ? -1 : 1;
  rough.sort((a, b) => b.worth - a.worth || byId(a, b));
  const considered = likings.slice(0, LIKINGS_MAX);
  const own = new Float32Array(termsEnd);
  const close = rough.slice(0, SHORTLIST).map(({ index, merit }) => {
    spread(catalog, index, own);
    const causes = [];
    let against = 0;
    for (const liking of considered) {
      const share = liking.strength * likeness(catalog, liking.index, own) ** LIKENESS_POWER;
      if (share > 0) causes.push({ liking, share });
      else against += share;
    }
    unspread(catalog, index, own);
    causes.sort((a, b) => b.share - a.share || a.liking.index - b.liking.index);
    let affinity = against;
    let weight = 1;
    for (const cause of causes.slice(0, CAUSES_MAX)) {
      affinity += cause.share * weight;
      weight *= NEXT_CAUSE;
    }
    return { index, merit, affinity, causes };
  });
  return close.sort((a, b) => worthOf(b) - worthOf(a) || byId(a, b));
}
var worthOf = ({ affinity, merit }) => Math.max(affinity, 0) + merit * MERIT_WEIGHT;
function pick(catalog, ranked, countMax) {
  const { series, termsEnd } = catalog;
  const left = ranked.map((candidate) => {
    const worth = worthOf(candidate);
    return { candidate, worth, value: worth, sameness: 0, people: 0 };
  });
  const own = new Float32Array(termsEnd);
  const picks = [];
  while (picks.length < countMax && left.length > 0) {
    let best = 0;
    for (let at = 1; at < left.length; at++) if (left[at].value > left[best].value) best = at;
    const { candidate, value } = left[best];
    left.splice(best, 1);
    picks.push({ ...candidate, score: 1 - Math.exp(-SCORE_STEEPNESS * value) });
    spread(catalog, candidate.index, own);
    const people = new Set(series[candidate.index].authors);
    for (const one of left) {
      one.sameness = Math.max(one.sameness, likeness(catalog, one.candidate.index, own));
      if (series[one.candidate.index].authors.some((name) => people.has(name))) one.people += 1;
      one.value = one.worth * (1 - SAMENESS * one.sameness) / (1 + SAME_PERSON * one.people);
    }
    unspread(catalog, candidate.index, own);
  }
  return picks;
}
function merits({ series, countOf }) {
  const readersMax = series.reduce((most, { readers }) => Math.max(most, readers), 0);
  const namesOf = ({ genres, tags }) => [
    ...genres.map((name) => countOf("genre", name)),
    ...tags.map((name) => countOf("tag", name))
  ];
  const added = series.reduce(({ first, last }, { addedAt }) => ({ first: Math.min(first, addedAt), last: Math.max(last, addedAt) }), {
    first: Number.POSITIVE_INFINITY,
    last: 0
  });
  return (index) => {
    const one = series[index];
    const rated = one.communityRating === null ? NO_RATING : one.communityRating / 100;
    const read = readersMax === 0 ? 0 : Math.log1p(one.readers) / Math.log1p(readersMax);
    const counts = namesOf(one);
    const typical = counts.length === 0 ? 0 : Math.max(...counts) / series.length;
    const fresh = added.last > added.first ? (one.addedAt - added.first) / (added.last - added.first) : 0;
    return 0.2 * rated + 0.65 * read + 0.1 * typical + 0.05 * fresh;
  };
}
function spread({ starts, terms, weights }, index, into) {
  for (let at = starts[index]; at < starts[index + 1]; at++) into[terms[at]] = weights[at];
}
function unspread({ starts, terms }, index, into) {
  for (let at = starts[index]; at < starts[index + 1]; at++) into[terms[at]] = 0;
}
function likeness({ starts, terms, weights }, index, other, only) {
  let sum = 0;
  for (let at = starts[index]; at < starts[index + 1]; at++) {
    const term = terms[at];
    if (only === void 0 || only(term)) sum += weights[at] * other[term];
  }
  return Math.min(sum, 1);
}

// similar-in-library/reason.ts
var TASTE_SHARE = 0.3;
var ALSO_SHARE = 0.3;
var BASED_ON_MAX = 3;
var PEOPLE_SHARE = 0.5;
var GOOD_RATING = 70;
var POPULAR_SHARE = 0.1;
var POPULAR_NAMES = 2;
var SHOWN_LENGTH_MAX = 120;
var shortened = (text) => text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX - 1).toWellFormed()}…`;
var ratingText = (rating) => `${Math.round(rating)} out of 100`;
var titleOf = ({ title }) => title === "" ? "a series without a title" : shortened(title);
function explain(catalog, picked) {
  const { series } = catalog;
  const one = series[picked.index];
  const [most] = picked.causes;
  if (most === void 0 || picked.affinity < worthOf(picked) * TASTE_SHARE) return { reason: meritReason(catalog, one), basedOn: [] };
  const cause = series[most.liking.index];
  const also = picked.causes.filter(({ share }) => share >= most.share * ALSO_SHARE).slice(0, BASED_ON_MAX);
  const basedOn = also.map(({ liking }) => series[liking.index].title).filter((title) => title !== "");
  const did = deedOf(cause, most.liking.state);
  const own = new Float32Array(catalog.termsEnd);
  spread(catalog, picked.index, own);
  const byPeople = likeness(catalog, most.liking.index, own, catalog.isPerson) / likeness(catalog, most.liking.index, own);
  unspread(catalog, picked.index, own);
  const people = new Set(cause.authors);
  const person = one.authors.find((name) => people.has(name));
  if (person !== void 0 && byPeople >= PEOPLE_SHARE) return { reason: `More by ${shortened(person)}, because ${did}`, basedOn };
  return { reason: `Because ${did}`, basedOn };
}
function deedOf(cause, state) {
  const rated = cause.rating === null ? null : `you gave ${titleOf(cause)} ${ratingText(cause.rating)}`;
  if (rated !== null && (cause.rating ?? 0) >= GOOD_RATING) return rated;
  if (state === "finished") return `you finished ${titleOf(cause)}`;
  if (state === "reading" && cause.bookCount > 0) return `you are reading ${titleOf(cause)}`;
  return rated ?? `you read ${titleOf(cause)}`;
}
function meritReason({ series, countOf }, one) {
  if (one.readers > 0) return `${one.readers} users of this server have started it`;
  if (one.communityRating !== null && one.communityRating >= GOOD_RATING) return `Rated ${ratingText(one.communityRating)} on average`;
  const named = [
    ...one.genres.map((name) => ({ name, count: countOf("genre", name) })),
    ...one.tags.map((name) => ({ name, count: countOf("tag", name) }))
  ];
  const popular = named.filter(({ count: count2 }) => count2 >= Math.max(2, series.length * POPULAR_SHARE)).sort((a, b) => b.count - a.count);
  if (popular.length === 0) return "You have not read it yet";
  const names = popular.slice(0, POPULAR_NAMES).map(({ name }) => shortened(name));
  return `Popular in this library: ${names.join(", ")}`;
}

// similar-in-library/main.ts
var KEPT_MAX = 150;
var STATUSES = ["ongoing", "ended", "hiatus", "abandoned", "unknown"];
var PAGES_MAX = 125;
var NAMES_SHOWN = 20;
async function compute(ctx, dismissed) {
  const open = new CatalogBuilder();
  let cursor = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await ctx.library.entries({ cursor });
    open.add(answer.entries);
    cursor = answer.nextCursor;
    if (cursor === null) break;
    ctx.progress(0.9 * (1 - 1 / (1 + page / 20)), "Reading the library");
  }
  if (cursor !== null) ctx.log.warn("The library is too large to compare completely; the rest was left out.", { pages: PAGES_MAX });
  ctx.progress(0.9, "Comparing");
  const catalog = open.close();
  const likings = readTaste(catalog.series);
  const ranked = rank(catalog, likings, (id) => dismissed.has(id));
  const recommendations = pick(catalog, ranked, KEPT_MAX).map((picked) => {
    const { id, title, genres, tags, year, status, communityRating, readers } = catalog.series[picked.index];
    return {
      externalId: id,
      title,
      ...explain(catalog, picked),
      score: Math.round(picked.score * 1e4) / 1e4,
      inLibrary: true,
      genres: genres.slice(0, NAMES_SHOWN),
      tags: tags.slice(0, NAMES_SHOWN).map((name) => ({ name })),
      startYear: year,
      status: STATUSES.find((known) => known === status) ?? null,
      rating: communityRating === null ? null : Math.round(communityRating),
      popularity: readers === 0 ? null : readers
    };
  });
  ctx.log.info("Compared the library", { series: catalog.series.length, known: catalog.series.filter(isKnown).length });
  return recommendations;
}
var main_default = { recommendations: storedRecommendations(compute) };
export {
  main_default as default
};
