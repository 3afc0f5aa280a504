/** The significant words of a text, in any language. */

import { normalizeText } from '../../../plugin-sdk/text.ts'

/** Words that occur in every description; words that are frequent in the library weigh nothing anyway. */
const STOP_WORDS = new Set(
  [
    'a about after again all also an and any are as at back be because been before being between both but by can come could did do does down each even ever every find finds first for from get gets go has have he her here him his how if in into is it its just know less life like made make makes many may me more most much must my new no not now of off old on one only or other our out over own she should so some soon still such take takes than that the their them then there these they this those through time to too two under until up upon very was way we well were what when where which while who whose why will with without world would year years you young your',
    'book books chapter chapters edition series story stories tale tales volume volumes vol',
    'aber als am an auch auf aus bei bis dann das dass dem den der des die dies diese dieser doch du durch ein eine einem einen einer eines er es für gegen hat haben ich ihm ihn ihr ihre ihrer im in ist jetzt kann kein mehr mit muss nach nicht noch nun nur oder ohne sein seine seinem seinen seiner sich sie sind so über um und uns unter vom von vor war was wenn wer werden wie wird wo zu zum zur zwischen',
    'alors au aux avec ce cet cette ces comme dans de des deux du elle elles en est et être eux fait il ils je la le les leur leurs lui mais même ne nous on ont ou où par pas plus pour quand que qui sa sans se ses si son sont sous sur tout tous très un une va vie vous',
    'al algo ante antes como con cuando de del desde donde dos el ella ellos en entre era es esta este fue ha hasta hay la las le lo los más muy ni no nos o otra otro para pero por porque que quien se ser si sin sobre son su sus también tan tiene todo todos un una uno y ya',
    'ao aos até com como da das de do dos e ela ele em então entre essa esse está foi isso já mais mas mesmo muito na nas no nos não num numa os ou para pela pelo por quando que quem se sem ser seu seus sua suas são também tem um uma',
    'ai al alla anche che chi ci come con cui da dal dalla dei del della delle di dove due e è gli ha i il in io la le lei lo loro lui ma nel nella non o per più però quando quella questo sono su sua suo tra tutti un una uno',
    'aan als bij dan dat de deze die dit door een en er haar had heb heeft het hij hun in is maar meer met naar niet nog of om ook op over te tot uit van voor waar wat worden wordt ze zich zijn zij',
    'без бы был была было быть в вас во вот все всё вы где для до его ее её если есть еще же за и из или им их к как когда кто ли мы на над не него нет но о об он она они от по под при с со так то того только ты у что чтобы это я',
  ].flatMap((words) => words.split(' ')),
)

/** Han, Kana, Hangul and Thai are written without spaces, or with endings on every word: pairs of letters replace words. */
const SPACELESS = /^[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]/
const WORD = /[\p{L}\p{M}\p{N}]+/gu
const MARKUP = /<[^<>]{1,200}>|&[a-z]{2,8};|https?:\/\/\S+/gi

const WORD_LENGTH_MIN = 3
/** Longer ones are not words. */
const WORD_LENGTH_MAX = 40

/** Number of hash buckets for words: the vocabulary of a large library would not fit into memory, and two words rarely collide. */
export const WORD_BUCKETS = 1 << 19

/** FNV-1a of the letters, reduced to the buckets. */
function bucketOf(word: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193)
  return (hash ^ (hash >>> 13)) & (WORD_BUCKETS - 1)
}

/** Calls back with the bucket of every significant word of a text, once for each occurrence. */
export function eachWord(text: string, lengthMax: number, onWord: (bucket: number) => void): void {
  const plain = normalizeText(text.slice(0, lengthMax).replace(MARKUP, ' '), lengthMax, 'NFKC').toLowerCase()
  for (const word of plain.match(WORD) ?? []) {
    if (word.charCodeAt(0) >= 0x0e00 && SPACELESS.test(word)) {
      for (let index = 1; index < Math.min(word.length, lengthMax); index++) onWord(bucketOf(word.slice(index - 1, index + 1)))
      continue
    }
    if (word.length < WORD_LENGTH_MIN || word.length > WORD_LENGTH_MAX || STOP_WORDS.has(word)) continue
    // Removes the plural s, in English and in other European languages that have it.
    onWord(bucketOf(word.length > 4 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word))
  }
}
