import t from 'tap'
import { configMembers } from '../../../../../../web/src/pages/profile/plugins/config-members.ts'

const field = (key: string, type: string) => ({ key, label: key.toUpperCase(), type, required: false, description: null })

t.test('settings of a plugin are fields by their type; those that no field can hold are left out', async (t) => {
  const members = configMembers({
    fields: [
      field('adult', 'boolean'),
      field('most', 'integer'),
      field('titles', 'string'),
      field('key', 'string'),
      field('names', 'array'),
    ],
    schema: {
      properties: {
        most: { minimum: 1, maximum: 100 },
        titles: { enum: ['english', 'native'] },
        key: { format: 'password' },
      },
    },
  })
  t.same(
    members.map(({ key, kind }) => `${key} ${kind}`),
    ['adult boolean', 'most number', 'titles choice', 'key secret'],
  )
  t.match(members[1], { label: 'MOST', min: 1, max: 100 })
  t.same(members[2]?.choices, ['english', 'native'])
  t.same(configMembers(null), [], 'a plugin without settings')
})
