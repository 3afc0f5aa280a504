/**
 * Bounded text normalization. The implementation belongs to the plugin SDK, which imports nothing of ours: its functions run both in the sandbox and
 * in the server.
 */
export { boundMarks, cutText, normalizeText } from '../../plugin-sdk/normalize-text.ts'
