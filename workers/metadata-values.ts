import type { Problem } from '#core/book/analysis.ts'
import { AUTHORS_MAX, type Author, LIST_MAX, NAME_LENGTH_MAX, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from '#core/metadata/limits.ts'
import { readIsbns } from '#core/metadata/isbn.ts'
import { resolveReferences } from './xml-text.ts'

const INT32_MAX = 2_147_483_647
const POSITION_MAX = 99_999_999
/** Remarks told in a problem; a file with more is rubbish as a whole. */
const REMARKS_MAX = 10
