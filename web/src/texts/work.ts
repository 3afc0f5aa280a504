import { defineTexts } from '#texts/define-texts.ts'

export const workTexts = defineTexts({
  title: 'Running work',
  nothing: 'Nothing is running',
  nothingWords: 'Scans of libraries are shown here while they wait or run.',
})
