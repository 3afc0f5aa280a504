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
var NotFoundError = class extends PluginError {
  constructor(message = "There is no entry with this identifier.") {
    super("not_found", message);
    this.name = "NotFoundError";
  }
};
var UpstreamError = class extends PluginError {
  constructor(message = "The service failed.") {
    super("upstream", message);
    this.name = "UpstreamError";
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
function readIsbn(text) {
  const digits = text.trim().replace(/^(urn:)?isbn(-1[03])?[:\s]*/i, "").replace(/[\s\u00ad\u2010-\u2015-]/g, "").toUpperCase();
  if (/^97[89]\d{10}$/.test(digits)) return digits.endsWith(check13(digits)) ? digits : null;
  if (/^\d{9}[\dX]$/.test(digits)) return digits.endsWith(check10(digits)) ? digits : null;
  return null;
}
function readIsbn13(text) {
  const isbn = readIsbn(text);
  if (isbn === null || isbn.length === 13) return isbn;
  const stem = `978${isbn.slice(0, 9)}`;
  return stem + check13(stem);
}
var weighted = (digits, count, weight) => [...digits.slice(0, count)].reduce((total, digit, index) => total + Number(digit) * weight(index), 0);
var check13 = (digits) => String((10 - weighted(digits, 12, (index) => index % 2 === 0 ? 1 : 3) % 10) % 10);
function check10(digits) {
  const rest = (11 - weighted(digits, 9, (index) => 10 - index) % 11) % 11;
  return rest === 10 ? "X" : String(rest);
}
var MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
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
var DATE_LENGTH_MAX = 60;
function readDate(text) {
  if (text.length > DATE_LENGTH_MAX) return null;
  const plain = text.toLowerCase().replace(/[[\]()?©]/g, "").replace(/\s+/g, " ").trim();
  for (const [pattern, read] of DATES) {
    const found = pattern.exec(plain);
    if (found === null) continue;
    const [year2 = "", month, day] = read(found.slice(1));
    const date = dateOf(Number(year2), month, day);
    if (date !== null) return date;
  }
  const years = [...plain.matchAll(/(?<!\d)(\d{4})(?!\d)/g)].map(([year2]) => Number(year2));
  const [year] = years.filter(isYear);
  return year === void 0 || years.some((other) => other !== year) ? null : { year };
}
var isYear = (year) => year >= 1e3 && year <= 2999;
function dateOf(year, monthText, dayText) {
  if (!isYear(year)) return null;
  if (monthText === void 0) return { year };
  const named = MONTHS.indexOf(monthText.slice(0, 3));
  const month = named === -1 ? Number(monthText) : named + 1;
  if (month === 0) return { year };
  if (month > 12) return null;
  const day = Number(dayText ?? 0);
  if (day === 0) return { year, month };
  return new Date(Date.UTC(year, month - 1, day)).getUTCMonth() === month - 1 ? { year, month, day } : null;
}
function readLanguage(code) {
  try {
    const [language] = Intl.getCanonicalLocales(code.trim().replaceAll("_", "-"));
    return language === void 0 || !/^[a-z]{2,3}\b/.test(language) || /^(und|mul|zxx|mis)\b/.test(language) ? null : language;
  } catch {
    return null;
  }
}

// open-library/records.ts
var isRec = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
var textOf = (value) => typeof value === "string" && value.trim() !== "" ? value.trim() : null;
var listOf = (value) => Array.isArray(value) ? value : [];
function textsOf(value) {
  const list = Array.isArray(value) ? value : [value];
  return list.map(textOf).filter((text) => text !== null);
}
var numberOf = (value) => {
  const number = typeof value === "string" && /^\s*\d{1,9}\s*$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
};
var longTextOf = (value) => textOf(isRec(value) ? value["value"] : value);
var keyOf = (value) => textOf(isRec(value) ? value["key"] : value);
var idOf = (value, kind) => new RegExp(`^(?:/?(?:works|books|authors)/)?(OL\\d{1,15}${kind})$`).exec(keyOf(value) ?? "")?.[1] ?? null;
function coverOf(...records) {
  for (const record of records) {
    const covers = Array.isArray(record?.["covers"]) ? record["covers"] : [record?.["cover_i"]];
    const cover = covers.map(numberOf).find((id) => id !== null && Number.isInteger(id) && id > 0);
    if (cover !== void 0) return `https://covers.openlibrary.org/b/id/${cover}-L.jpg`;
  }
  return null;
}
function summaryOf(...records) {
  for (const record of records) {
    const text = longTextOf(record?.["description"]) ?? longTextOf(record?.["first_sentence"]);
    if (text === null) continue;
    const [body = ""] = text.replace(/\r\n?/g, "\n").split(/\n-{4,}|\n\[1\]:|\n\(?\[source\]/i);
    const plain = body.replace(
      /\(?\[([^\][\n]{1,200})\](?:\[\d{1,3}\]|\([^()\s]{1,500}\))\)?/g,
      (_, shown) => /^source$/i.test(shown) ? "" : shown
    ).replace(/[*_]{2}/g, "").trim();
    if (plain !== "") return plain;
  }
  return null;
}
function distinct(texts) {
  const seen = /* @__PURE__ */ new Map();
  for (const text of texts) if (!seen.has(text.toLowerCase())) seen.set(text.toLowerCase(), text);
  return [...seen.values()];
}

// open-library/catalog.ts
var SITE = "https://openlibrary.org";
var REDIRECTS_MAX = 3;
var AUTHORS_MAX = 6;
async function ask(path, ctx) {
  const record = await ctx.http.json(`${SITE}${path}`);
  if (!isRec(record)) throw new UpstreamError(`Open Library did not return a record at ${path}.`);
  return record;
}
async function getRecord(path, ctx) {
  let from = path;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const record = await ask(`${from}.json`, ctx);
    const type = keyOf(record["type"]);
    if (type === "/type/delete") throw new NotFoundError(`Open Library has deleted ${from}.`);
    const location = textOf(record["location"]);
    if (type !== "/type/redirect" || location === null) return record;
    if (!/^\/(works|books|authors)\/OL\d{1,15}[AMW]$/.test(location)) throw new UpstreamError(`${from} redirects to an invalid path.`);
    from = location;
  }
  throw new UpstreamError(`${path} redirects in a loop.`);
}
var getWork = (id, ctx) => getRecord(`/works/${id}`, ctx);
var getEdition = (id, ctx) => getRecord(`/books/${id}`, ctx);
async function findByIsbn(isbn, ctx) {
  try {
    return await getRecord(`/isbn/${isbn}`, ctx);
  } catch (error) {
    if (hasCode(error, "not_found")) return null;
    throw error;
  }
}
async function findWorkOf(edition, ctx) {
  const [first] = listOf(edition["works"]);
  const id = idOf(first, "W");
  return id === null ? null : await unlessGone(getWork(id, ctx));
}
async function findAuthors(record, ctx) {
  const ids = listOf(record["authors"]).map((entry) => idOf(isRec(entry) && entry["author"] !== void 0 ? entry["author"] : entry, "A"));
  const wanted = [...new Set(ids.filter((id) => id !== null))].slice(0, AUTHORS_MAX);
  const authors = await Promise.all(wanted.map((id) => unlessGone(getRecord(`/authors/${id}`, ctx))));
  return authors.map((author) => textOf(author?.["name"]) ?? textOf(author?.["personal_name"])).filter((name) => name !== null);
}
async function unlessGone(record) {
  try {
    return await record;
  } catch (error) {
    if (hasCode(error, "not_found")) return null;
    throw error;
  }
}
var FIELDS = "key,title,subtitle,author_name,first_publish_year,cover_i,edition_count,ratings_average,subject,language";
var PAGE_MAX = 50;
async function search({ title, author, limit, page }, ctx) {
  const parts = {
    title,
    author,
    language: marcOf(ctx.config.language ?? ""),
    fields: FIELDS,
    limit: String(Math.min(limit, PAGE_MAX)),
    page: String(page)
  };
  const query = Object.entries(parts).filter(([, value]) => value !== void 0 && value !== "").map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  const answer = await ask(`/search.json?${query}`, ctx);
  const docs = listOf(answer["docs"]).filter(isRec);
  return { docs, total: Number(answer["numFound"] ?? answer["num_found"] ?? docs.length) };
}
var MARC = {
  en: "eng",
  de: "ger",
  fr: "fre",
  es: "spa",
  it: "ita",
  pt: "por",
  nl: "dut",
  ja: "jpn",
  zh: "chi",
  ko: "kor",
  ru: "rus",
  pl: "pol",
  sv: "swe",
  da: "dan",
  no: "nor",
  fi: "fin",
  cs: "cze",
  hu: "hun",
  tr: "tur",
  el: "gre",
  ar: "ara",
  he: "heb",
  ro: "rum",
  uk: "ukr"
};
var marcOf = (language) => MARC[language.toLowerCase().split("-")[0] ?? ""] ?? (/^[a-z]{3}$/.test(language) ? language : "");

// open-library/main.ts
function resultOfDoc(doc, wanted) {
  const [externalId, title] = [idOf(doc, "W"), textOf(doc["title"])];
  if (externalId === null || title === null) return null;
  const whole = titleWith(title, doc);
  const average = numberOf(doc["ratings_average"]);
  return {
    externalId,
    title: whole,
    year: numberOf(doc["first_publish_year"]),
    coverUrl: coverOf(doc),
    relevance: Math.max(titleSimilarity(wanted, title), titleSimilarity(wanted, whole)),
    preview: {
      genres: textsOf(doc["subject"] ?? []).slice(0, 5),
      rating: average === null ? null : average * 20,
      bookCount: numberOf(doc["edition_count"]),
      description: textsOf(doc["author_name"] ?? []).join(", ") || null
    }
  };
}
var titleWith = (title, record) => {
  const subtitle = textOf(record["subtitle"]);
  return subtitle === null || title.includes(subtitle) ? title : `${title}: ${subtitle}`;
};
function resultOfEdition(edition) {
  const [externalId, title] = [idOf(edition, "M"), textOf(edition["title"])];
  if (externalId === null || title === null) return null;
  return {
    externalId,
    title: titleWith(title, edition),
    year: dateOf2(edition)?.year ?? null,
    coverUrl: coverOf(edition),
    relevance: 1,
    preview: {
      description: [...textsOf(edition["publishers"] ?? []), textOf(edition["publish_date"]) ?? ""].filter(Boolean).join(", ") || null
    }
  };
}
var byRelevance = (a, b) => (b.relevance ?? 0) - (a.relevance ?? 0);
var dateOf2 = (record) => readDate(textOf(record["publish_date"]) ?? textOf(record["first_publish_date"]) ?? "");
var ROLES = [
  [/translat/i, "translator"],
  [/illustrat|drawings|artist/i, "illustrator"],
  [/edit/i, "editor"],
  [/cover/i, "cover_artist"],
  [/co-?author/i, "co_author"]
];
function peopleOf(authors, edition) {
  const people = authors.map((name) => ({ name, role: "author" }));
  for (const one of listOf(edition?.["contributors"])) {
    const name = isRec(one) ? textOf(one["name"]) : null;
    if (name === null || people.some((person) => person.name === name)) continue;
    const roleName = textOf(one["role"]) ?? "";
    people.push({ name, role: ROLES.find(([pattern]) => pattern.test(roleName))?.[1] ?? "contributor" });
  }
  return people;
}
var numberInSeries = (edition) => {
  const [series = ""] = textsOf(edition["series"] ?? []);
  const [, number] = /(?:#|--|;|,|\b(?:no|bk|book|vol|volume|v|part)\.?)\s*(\d{1,4}(?:\.\d{1,2})?)\)?$/i.exec(series) ?? [];
  return number === void 0 ? null : Number(number);
};
var isbnsOf = (edition) => {
  const written = [...textsOf(edition["isbn_13"] ?? []), ...textsOf(edition["isbn_10"] ?? [])];
  return distinct(written.map(readIsbn13).filter((isbn) => isbn !== null)).join(",") || null;
};
function idsOf(work, edition) {
  const ids = {};
  const others = isRec(edition?.["identifiers"]) ? edition["identifiers"] : {};
  const named = { ...others, lccn: edition?.["lccn"], oclc: edition?.["oclc_numbers"] };
  for (const [source, value] of Object.entries(named).slice(0, 30)) {
    const [id] = textsOf(value ?? []);
    if (id !== void 0 && /^[a-z0-9._-]{1,50}$/.test(source) && id.length <= 200) ids[source] = id;
  }
  const own = idOf(work ?? null, "W");
  if (own !== null) ids["openlibrary.work"] = own;
  return ids;
}
function linksOf(work) {
  return listOf(work?.["links"]).filter(isRec).map((link) => ({ label: (textOf(link["title"]) ?? "Link").slice(0, 100), url: textOf(link["url"]) ?? "" })).filter(({ url }) => /^https?:\/\/\S{1,1900}$/.test(url)).slice(0, 20);
}
async function describe(work, edition, ctx) {
  const record = edition ?? work ?? {};
  const own = edition === null ? [] : await findAuthors(edition, ctx);
  const authors = own.length > 0 || work === null ? own : await findAuthors(work, ctx);
  const date = dateOf2(record);
  const subjects = distinct([...textsOf(work?.["subjects"] ?? []), ...textsOf(edition?.["subjects"] ?? [])]);
  const [language] = listOf(edition?.["languages"]);
  const [publisher = null] = textsOf(edition?.["publishers"] ?? []);
  const isEdition = edition !== null;
  const externalId = (isEdition ? idOf(edition, "M") : idOf(record, "W")) ?? "";
  return {
    externalId,
    externalUrl: `${SITE}/${isEdition ? "books" : "works"}/${externalId}`,
    title: textOf(record["title"]),
    subtitle: textOf(record["subtitle"]),
    summary: summaryOf(edition, work),
    publisher,
    year: date?.year ?? null,
    month: date?.month ?? null,
    day: date?.day ?? null,
    authors: peopleOf(authors, edition),
    subjects: subjects.slice(0, ctx.config.subjectsMax ?? 20),
    coverUrl: coverOf(edition, work),
    externalLinks: linksOf(work),
    externalIds: idsOf(work, edition),
    isbns: isEdition ? isbnsOf(edition) : null,
    language: readLanguage(String(isRec(language) ? language["key"] : language ?? "").replace("/languages/", "")),
    pageCount: isEdition ? numberOf(edition["number_of_pages"]) ?? pagesIn(edition) : null,
    number: isEdition ? numberInSeries(edition) : null
  };
}
function pagesIn(edition) {
  const counted = [...(longTextOf(edition["pagination"]) ?? "").slice(0, 200).matchAll(/(\d{1,5})\s*p(?:\.|ages|\b)/gi)];
  return counted.length === 0 ? null : Math.max(...counted.map(([, pages]) => Number(pages)));
}
async function match({ title, alternateTitles = [], authors = [], isbn, year }, ctx) {
  const number = isbn ? readIsbn13(isbn) : null;
  const edition = number === null ? null : await findByIsbn(number, ctx);
  const exact = edition === null ? null : resultOfEdition(edition);
  if (exact !== null) {
    const likeness = Math.max(...[title, ...alternateTitles].map((name) => titleSimilarity(name, exact.title)));
    return { match: exact, confidence: title.trim() === "" || likeness >= 0.3 ? 1 : 0.5, alternatives: [] };
  }
  if (title.trim() === "") return { match: null, confidence: 0, alternatives: [] };
  const [author] = authors;
  let { docs } = await search({ title, author, limit: 10, page: 1 }, ctx);
  if (docs.length === 0 && author !== void 0) docs = (await search({ title, limit: 10, page: 1 }, ctx)).docs;
  const rated = docs.map((doc) => ({ doc, result: resultOfDoc(doc, title) })).filter((one) => one.result !== null).map(({ doc, result }) => ({ ...result, relevance: likelihood(result, doc, { title, alternateTitles, author, year: year ?? null }) })).sort(byRelevance);
  const [best, ...alternatives] = rated;
  return best === void 0 || best.relevance < 0.5 ? { match: null, confidence: 0, alternatives: rated } : { match: best, confidence: best.relevance, alternatives };
}
function likelihood({ title, year }, doc, wanted) {
  const short = textOf(doc["title"]) ?? title;
  const titles = [wanted.title, ...wanted.alternateTitles.slice(0, 10)];
  const likeness = Math.max(...titles.map((name) => Math.max(titleSimilarity(name, title), titleSimilarity(name, short))));
  const names = textsOf(doc["author_name"] ?? []).slice(0, 20);
  const known = wanted.author === void 0 || names.length === 0 ? null : Math.max(...names.map((name) => titleSimilarity(name, wanted.author)));
  const author = known === null ? 0.9 : known >= 0.6 ? 1 : 0.5;
  const time = wanted.year === null || !year || wanted.year >= year - 1 ? 1 : 0.8;
  return Math.round(likeness * author * time * 1e3) / 1e3;
}
var main_default = definePlugin({
  metadata: {
    book: {
      async search({ query, isbn, author, limit, cursor }, ctx) {
        const number = readIsbn13(isbn ?? query);
        if (number !== null) {
          const edition = await findByIsbn(number, ctx);
          const result = edition === null ? null : resultOfEdition(edition);
          if (result !== null) return { results: [result], nextCursor: null };
        }
        if (query.trim() === "" || readIsbn13(query) !== null) return { results: [], nextCursor: null };
        const page = cursor !== void 0 && /^[1-9]\d{0,2}$/.test(cursor) ? Number(cursor) : 1;
        const { docs, total } = await search({ title: query, author, limit, page }, ctx);
        const results = docs.map((doc) => resultOfDoc(doc, query)).filter((result) => result !== null);
        ctx.log.debug("searched", { found: total, shown: results.length, page });
        return {
          results: results.sort(byRelevance).slice(0, limit),
          nextCursor: docs.length >= limit && page * limit < total ? String(page + 1) : null
        };
      },
      async get({ externalId }, ctx) {
        const work = idOf(externalId, "W");
        if (work !== null) return await describe(await getWork(work, ctx), null, ctx);
        const edition = idOf(externalId, "M");
        if (edition === null)
          throw new NotFoundError(
            `"${externalId}" is neither a work nor an edition of Open Library. Their identifiers look like OL45804W and OL7353617M.`
          );
        const found = await getEdition(edition, ctx);
        return await describe(await findWorkOf(found, ctx), found, ctx);
      },
      match
    }
  }
});
export {
  main_default as default
};
