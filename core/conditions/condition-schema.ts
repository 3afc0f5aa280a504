import Type from 'typebox'
import { RULE_OPERATORS } from '#core/conditions/operators.ts'
import { describedAs, FreeJson, FreeObject, OneOf } from '#core/foundation/schema.ts'

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()], { title: 'RuleValue' })

/** The grammar of `compileCondition` as a schema, which refers to itself. */
const Shown = Type.Object(
  {
    mode: Type.Optional(OneOf(['all', 'any'])),
    rules: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Object(
            {
              field: Type.String({ description: 'A path such as metadata.title.' }),
              operator: OneOf(RULE_OPERATORS),
              value: Type.Optional(Type.Union([Type.Array(Scalar), Scalar])),
            },
            { title: 'Rule' },
          ),
          Type.Unsafe({ $ref: '#/components/schemas/RuleCondition' }),
        ]),
      ),
    ),
  },
  { title: 'RuleCondition', description: 'Rules over the fields of a book or series, and groups of them; without rules it passes.' },
)

/** A condition of rules, as matching and templates use it. */
export const RuleCondition = describedAs(FreeObject(), Shown)

/** The same where a value of any type reaches the reader of rules, which refuses it. */
export const GivenCondition = describedAs(FreeJson, Shown)
