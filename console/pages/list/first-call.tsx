import type { Json } from '../../api.ts'
import type { EntityType, Field } from '../../model.ts'
import { createCall, curlOf } from '../../parts/api-call.ts'
import { Code } from '../../parts/api-dialog.tsx'
import { useTexts } from '../../texts/index.ts'

/** Shows how a program would create the first Entity. */
export default function FirstCall({ type }: { readonly type: EntityType }) {
  const texts = useTexts()
  return (
    <Code
      title={texts.tryApi.curl}
      text={curlOf(createCall(type.name, exampleOf(type.fields)), location.origin)}
    />
  )
}

/** Returns the required fields, with plausible values. */
function exampleOf(fields: readonly Field[]): Json {
  return Object.fromEntries(
    fields.filter(({ required }) => required).map((field) => [field.name, exampleValue(field)]),
  )
}

const EXAMPLES: Readonly<Record<string, unknown>> = {
  text: 'Something',
  email: 'ada@example.com',
  url: 'https://example.com/',
  integer: 1,
  number: 1,
  decimal: '1.00',
  boolean: true,
  date: '2027-05-01',
  datetime: '2027-05-01T12:00:00Z',
  json: {},
  password: 'four random words here',
  secret: 'secret',
  ref: { id: 1 },
  list: [],
}

function exampleValue({ type, example, choices, fields }: Field): unknown {
  if (example !== undefined) return example
  if (type === 'choice') return choices?.[0]
  return type === 'object' ? exampleOf(fields ?? []) : EXAMPLES[type]
}
