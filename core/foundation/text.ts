/**
 * Normalizing text, bounded. The implementation belongs to the kit for plugins, which imports nothing of ours: its functions run in the sandbox and
 * in the server alike.
 */
export { boundMarks, cutText, MARKS_IN_A_ROW_MAX, type NormalForm, normalizeText } from '../../plugin-sdk/normalize-text.ts'
