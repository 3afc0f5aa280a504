import { defineTexts } from '#texts/define-texts.ts'

/** The tags by which series are shared, and what has them. */
export const sharingTexts = defineTexts({
  addTag: 'Add a sharing tag',
  noTags: 'No sharing tags yet',
  noTagsWords: 'A sharing tag marks series, such as those for children. Each user can be limited to some tags, or never see them.',
  howUsed: 'Select series in a list to give them a tag. What a user sees by tags is set with the user.',
  description: 'Description',
  descriptionHint: 'For administrators only.',
  users: { one: 'a rule for {count} user', other: 'rules for {count} users' },
  showSeries: 'Show its series',
  removeWords: {
    one: 'It is taken from {count} series and from all users. Who saw the series only by this tag no longer sees it; who was denied it may see it.',
    other:
      'It is taken from {count} series and from all users. Who saw them only by this tag no longer sees them; who was denied them may see them.',
  },
  exposes: '{users} would see more series without this tag. Change what they see first, or remove it anyway.',
  removeAnyway: 'Remove it anyway',
  give: 'Sharing tags',
  giveTitle: { one: 'Sharing tags of {count} series', other: 'Sharing tags of {count} series' },
  giveWords: 'Tags that stay as they are change nothing. They decide who sees the series.',
  keep: 'As it is',
  put: 'Give',
  take: 'Take away',
  given: { one: 'The sharing tags of {count} series are changed', other: 'The sharing tags of {count} series are changed' },
  noChange: 'Choose what to change first.',
})
