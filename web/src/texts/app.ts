import { defineTexts } from '#texts/define-texts.ts'

export const appTexts = defineTexts({
  name: 'Carrel',
  skip: 'Skip to the content',
  noPage: 'There is no page at this address',
  noPageHint: 'It may have been mistyped, or what it showed was removed.',
  toHome: 'To the home page',
})
