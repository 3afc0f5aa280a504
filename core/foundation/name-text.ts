/** Line ends, escape sequences of terminals, and characters that reverse the direction of the text around a name. */
const FORBIDDEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
/** Everything but spaces, marks, which need a letter, and what fonts do not draw: what may be ignored, and the five letters and symbols that Unicode defines as blank. */
const VISIBLE = /[^\p{Z}\p{M}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{1d159}]/u

/** Whether a text can be a name in lists and menus: one line with at least one visible character. Accepts the empty text, which `minLength` checks. */
export const isNameText = (text: string): boolean => text === '' || (VISIBLE.test(text) && text.search(FORBIDDEN) === -1)

/** The name of a file or folder as a name in lists: a character that users may not enter becomes a space, a name without visible characters `Untitled`. */
export const toNameText = (text: string): string => (VISIBLE.test(text) ? text.replace(FORBIDDEN, ' ') : 'Untitled')
