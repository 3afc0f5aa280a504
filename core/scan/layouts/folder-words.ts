/** Words in the names of folders, in lower case, by language (ISO 639-1). A kind is what a folder with such a name is. */
type WordsByLanguage = Readonly<Record<string, readonly string[]>>

/** Before or behind a number: "Vol 1", "第1巻". */
const volume: WordsByLanguage = {
  en: ['volume', 'volumes', 'vol', 'vols', 'v', 'book'],
  fr: ['tome', 'tomes', 't', 'livre'],
  de: ['band', 'bände', 'bd', 'ausgabe', 'heft'],
  es: ['tomo', 'volumen'],
  it: ['tomo', 'volume'],
  pt: ['livro', 'volume'],
  nl: ['deel'],
  pl: ['tom'],
  ru: ['том', 'тома'],
  ja: ['巻'],
  zh: ['卷', '冊', '册'],
  ko: ['권'],
  th: ['เล่ม'],
}
const chapter: WordsByLanguage = {
  en: ['chapter', 'chapters', 'chap', 'ch', 'c', 'episode', 'ep'],
  fr: ['chapitre', 'chapitres'],
  de: ['kapitel', 'kap'],
  es: ['capítulo', 'capitulo', 'cap'],
  it: ['capitolo'],
  pt: ['capítulo', 'capitulo'],
  ru: ['глава', 'главы'],
  ja: ['話', '章', '回'],
  zh: ['话', '話', '章', '回'],
  ko: ['화', '장'],
  th: ['ตอนที่'],
}
/** Larger than a volume, or of no certain size. */
const section: WordsByLanguage = {
  en: ['season', 's', 'part', 'pt', 'arc', 'issue', 'issues', 'cycle'],
  fr: ['saison', 'partie', 'cycle'],
  de: ['staffel', 'teil', 'zyklus'],
  es: ['temporada', 'parte', 'arco'],
  it: ['stagione', 'parte'],
  pt: ['temporada', 'parte'],
  ru: ['сезон', 'часть'],
  ja: ['期', '部', '編'],
  zh: ['季', '部', '篇'],
  ko: ['시즌', '부'],
}
/** Alone, or behind the name of the series. */
const whole: WordsByLanguage = {
  en: ['omnibus', 'omnibuses', 'compendium', 'compendiums', 'deluxe', 'issues', 'volumes', 'chapters', 'collected', 'tpb', 'tpbs'],
  fr: ['intégrale', 'intégrales', 'tomes', 'chapitres'],
  de: ['gesamtausgabe', 'bände', 'kapitel'],
  es: ['integral', 'tomos', 'capítulos'],
  ja: ['単行本', '完全版'],
  zh: ['单行本', '單行本'],
  ko: ['단행본'],
}
const side: WordsByLanguage = {
  en: [
    'special',
    'specials',
    'extra',
    'extras',
    'bonus',
    'side story',
    'side stories',
    'omake',
    'annual',
    'annuals',
    'artbook',
    'artbooks',
    'art books',
  ],
  fr: ['hors-série', 'hors série', 'spéciaux'],
  de: ['sonderband', 'sonderbände', 'sonderhefte', 'specials'],
  es: ['especial', 'especiales'],
  it: ['speciale', 'speciali'],
  pt: ['especial', 'especiais'],
  ru: ['спецвыпуск', 'спецвыпуски'],
  ja: ['番外編', '特別編', '画集', 'おまけ'],
  zh: ['番外', '番外篇', '特别篇', '画集', '畫集'],
  ko: ['특별편', '번외편', '외전', '화집'],
}
const oneshots: WordsByLanguage = {
  en: ['one shot', 'one shots', 'one-shot', 'one-shots', 'oneshot', 'oneshots', 'standalone', 'standalones', 'single issues'],
  fr: ['one-shots', 'histoires complètes'],
  de: ['einzelbände'],
  ja: ['読み切り', '読切'],
  zh: ['短篇', '单篇'],
  ko: ['단편', '단편집'],
}

/** All lists, as the documentation shows them. */
export const FOLDER_WORDS = { volume, chapter, section, whole, side, oneshots } as const
export type FolderWordKind = keyof typeof FOLDER_WORDS
export const FOLDER_WORD_KINDS = Object.keys(FOLDER_WORDS) as FolderWordKind[]

export type FolderWords = Readonly<Record<FolderWordKind, ReadonlySet<string>>>

/** The lists with the words of a library. */
export const wordsWith = (more: Partial<Record<FolderWordKind, readonly string[]>> = {}): FolderWords =>
  Object.fromEntries(
    FOLDER_WORD_KINDS.map((kind) => [
      kind,
      new Set([
        ...Object.values(FOLDER_WORDS[kind]).flat(),
        ...(more[kind] ?? []).map((word) => word.normalize('NFKC').toLowerCase().trim()),
      ]),
    ]),
  ) as unknown as FolderWords
