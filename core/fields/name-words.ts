/** What a word in the name of a file or folder means. */
export type NameRole = 'volume' | 'chapter' | 'season' | 'part' | 'arc' | 'issue'

/** Words of one language, as people write them, in any case; none holds digits or spaces at its ends. */
interface LanguageWords {
  /** BCP 47. */
  language: string
  /** Before a number: "Vol. 3", "Tome 3". */
  before?: Partial<Record<NameRole, readonly string[]>>
  /** Behind a number: "3巻", "12화". */
  behind?: Partial<Record<NameRole, readonly string[]>>
  /** Folders whose files are each a series of one. */
  oneshot?: readonly string[]
  /** Folders beside the numbered books, such as "Extras"; in the name of a file, they mark a special. */
  side?: readonly string[]
  /** Folders of collected or single books of the series above, such as "Omnibus" and "Issues". */
  edition?: readonly string[]
}

/** The only table of words in names of files and folders; documentation shows it. */
export const NAME_WORDS: readonly LanguageWords[] = [
  {
    language: 'en',
    before: {
      volume: ['volume', 'volumes', 'vol', 'vols', 'book', 'books'],
      chapter: ['chapter', 'chapters', 'chap', 'chaps', 'chp', 'ch', 'episode', 'episodes', 'ep', 'eps'],
      season: ['season'],
      part: ['part', 'parts', 'pt'],
      arc: ['arc', 'saga'],
      issue: ['issue', 'issues', 'iss', 'no.', 'number', 'prog'],
    },
    oneshot: ['one shot', 'one shots', 'oneshot', 'oneshots', 'one-shot', 'one-shots', 'standalone', 'standalones'],
    side: [
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
      'art book',
      'art books',
    ],
    edition: ['omnibus', 'compendium', 'deluxe', 'issues', 'volumes', 'chapters'],
  },
  {
    language: 'fr',
    before: {
      volume: ['tome', 'tomes', 'livre'],
      chapter: ['chapitre', 'chapitres', 'épisode'],
      season: ['saison'],
      part: ['partie'],
      arc: ['cycle'],
      issue: ['numéro', 'n°', 'nº'],
    },
    oneshot: ['récit complet', 'récits complets'],
    side: ['hors-série', 'hors série', 'spécial', 'bonus'],
    edition: ['intégrale', 'intégrales'],
  },
  {
    language: 'de',
    before: {
      volume: ['band', 'bände', 'bd', 'buch'],
      chapter: ['kapitel', 'kap', 'folge'],
      season: ['staffel'],
      part: ['teil'],
      issue: ['ausgabe', 'heft', 'nr', 'nummer'],
    },
    oneshot: ['einzelband', 'einzelbände'],
    side: ['sonderband', 'sonderbände', 'sonderheft', 'sonderhefte'],
    edition: ['sammelband', 'gesamtausgabe'],
  },
  {
    language: 'es',
    before: {
      volume: ['tomo', 'tomos', 'volumen', 'libro'],
      chapter: ['capítulo', 'capitulo', 'capítulos', 'capitulos', 'cap', 'episodio'],
      season: ['temporada'],
      part: ['parte'],
      arc: ['arco'],
      issue: ['número', 'numero', 'núm', 'num', 'nro'],
    },
    oneshot: ['autoconclusivo', 'autoconclusivos'],
    side: ['especial', 'especiales'],
    edition: ['integral'],
  },
  {
    language: 'it',
    before: {
      volume: ['volumi'],
      chapter: ['capitolo', 'capitoli'],
      season: ['stagione'],
      issue: ['albo', 'n.'],
    },
    oneshot: ['volume unico'],
    side: ['speciale', 'speciali'],
  },
  {
    language: 'pt',
    before: { volume: ['livro'], chapter: ['episódio'], issue: ['edição', 'edicao', 'ed.'] },
    side: ['especiais'],
    edition: ['edições'],
  },
  {
    language: 'nl',
    before: { volume: ['deel', 'album'], chapter: ['hoofdstuk', 'aflevering'], season: ['seizoen'], issue: ['nummer'] },
  },
  { language: 'da', before: { volume: ['bind'], chapter: ['kapittel'], season: ['sæson', 'sesong', 'säsong'] } },
  {
    language: 'fi',
    before: { volume: ['osa'], chapter: ['luku'], issue: ['numero'] },
    behind: { volume: ['osa'], chapter: ['luku'] },
  },
  {
    language: 'pl',
    before: { volume: ['tom', 'tomy', 'księga'], chapter: ['rozdział'], season: ['sezon'], part: ['część'], issue: ['zeszyt'] },
  },
  {
    language: 'cs',
    before: { volume: ['díl', 'svazek'], chapter: ['kapitola'], issue: ['číslo', 'č.'] },
    behind: { volume: ['díl', 'svazek'], chapter: ['kapitola'], issue: ['číslo'] },
  },
  { language: 'hu', before: { volume: ['kötet'], chapter: ['fejezet'] }, behind: { volume: ['kötet'], chapter: ['fejezet'] } },
  {
    language: 'tr',
    before: { volume: ['cilt'], chapter: ['bölüm'], issue: ['sayı'] },
    behind: { volume: ['cilt'], chapter: ['bölüm'], issue: ['sayı'] },
  },
  { language: 'vi', before: { volume: ['tập'], chapter: ['chương'] } },
  { language: 'id', before: { volume: ['jilid'], chapter: ['bab'] } },
  {
    language: 'ru',
    before: {
      volume: ['том', 'тома', 'т.', 'книга'],
      chapter: ['глава', 'главы', 'гл', 'эпизод'],
      season: ['сезон'],
      part: ['часть'],
      arc: ['арка'],
      issue: ['выпуск', 'номер', '№'],
    },
    behind: { volume: ['том', 'тома'], chapter: ['глава', 'главы'] },
    oneshot: ['ваншот', 'ваншоты', 'сингл'],
    side: ['спецвыпуск', 'спецвыпуски', 'экстра', 'бонус', 'омаке'],
  },
  { language: 'uk', before: { chapter: ['розділ'], issue: ['випуск'] }, behind: { chapter: ['розділ'] } },
  { language: 'el', before: { volume: ['τόμος'], chapter: ['κεφάλαιο'], issue: ['τεύχος'] } },
  { language: 'ar', before: { volume: ['المجلد', 'مجلد'], chapter: ['الفصل', 'فصل'] } },
  {
    language: 'th',
    before: { volume: ['เล่มที่', 'เล่ม'], chapter: ['ตอนที่', 'ตอน', 'บทที่', 'บท'], season: ['ซีซั่น', 'ภาค'], issue: ['ฉบับที่', 'ฉบับ'] },
    side: ['ตอนพิเศษ'],
  },
  {
    language: 'ja',
    before: { volume: ['巻の', '巻ノ', '巻'] },
    behind: {
      volume: ['巻', '冊', '集'],
      chapter: ['話', '章', '回'],
      part: ['部'],
      arc: ['編', '篇'],
      issue: ['月号', '号', '號'],
    },
    oneshot: ['読み切り', '読切', '短編'],
    side: ['番外編', '番外篇', '特別編', '特典', '外伝', 'おまけ', '画集'],
    edition: ['完全版', '文庫版', '愛蔵版'],
  },
  {
    language: 'zh',
    before: { volume: ['卷'] },
    behind: {
      volume: ['卷', '册', '冊'],
      chapter: ['话', '話', '章', '回'],
      season: ['季'],
      part: ['部'],
      arc: ['篇'],
      issue: ['期', '号', '號'],
    },
    oneshot: ['短篇', '单行本'],
    side: ['番外', '番外篇', '特别篇', '特別篇', '外传', '外傳', '画集', '畫集'],
  },
  {
    language: 'ko',
    before: { season: ['시즌'] },
    behind: { volume: ['권'], chapter: ['화', '회', '장', '편'], part: ['부'], issue: ['호'] },
    oneshot: ['단편'],
    side: ['특별편', '외전', '번외', '번외편', '화보집'],
  },
]

/** All words of one role, the longest first, so that none hides a longer one. */
export const wordsBefore = (role: NameRole): string[] => longestFirst(NAME_WORDS.flatMap(({ before }) => before?.[role] ?? []))
export const wordsBehind = (role: NameRole): string[] => longestFirst(NAME_WORDS.flatMap(({ behind }) => behind?.[role] ?? []))
/** All words for one kind of folder, the longest first. */
export const folderWords = (kind: 'oneshot' | 'side' | 'edition'): string[] =>
  longestFirst(NAME_WORDS.flatMap((words) => words[kind] ?? []))

const longestFirst = (words: readonly string[]): string[] => [...new Set(words)].sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
