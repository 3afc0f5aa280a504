import Type from 'typebox'

/** The entries of a list by what they begin with: a letter in lower case, or "#" for everything else. */
export const InitialGroups = Type.Array(Type.Object({ group: Type.String(), count: Type.Integer({ minimum: 0 }) }))
