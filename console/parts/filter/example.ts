import type { EntityType, Field } from '../../model.ts'

/** Returns an example filter for this type: `beds > 3 && status == "open"`. */
export function exampleOf(type: EntityType): string {
  const usable = type.fields.filter(({ filterable }) => filterable !== false)
  const parts = [partOf(usable, aboutNumber), partOf(usable, aboutChoice)].filter(
    (part) => part !== undefined,
  )
  return parts.length > 0 ? parts.join(' && ') : (partOf(usable, aboutText) ?? 'id > 3')
}

function partOf(fields: readonly Field[], say: (field: Field) => string | undefined): string | undefined {
  return fields.map(say).find((part) => part !== undefined)
}

function aboutNumber({ type, path }: Field): string | undefined {
  return type === 'integer' || type === 'number' ? `${path} > 3` : undefined
}

function aboutChoice({ type, path, choices }: Field): string | undefined {
  return type === 'choice' ? `${path} == ${JSON.stringify(choices?.[0])}` : undefined
}

function aboutText({ type, path }: Field): string | undefined {
  return type === 'text' || type === 'email' ? `${path}.startsWith("A")` : undefined
}
