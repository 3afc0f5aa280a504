import { defineTexts } from '#texts/define-texts.ts'

export const tableTexts = defineTexts({
  columns: 'Columns',
  lastRead: 'Last read',
  timesRead: 'Times read',
  changed: 'Updated',
  volumes: 'Volumes',
  sortBy: 'Sort by {column}',
  usual: 'Usual columns',
  columnsWords: 'Narrow windows leave out columns for which there is no room.',
})
