import type { EntityType, Field, Model } from '../declare/model.ts'
import { walk } from '../declare/model.ts'
import { sampleOf } from '../openapi/sample.ts'

/**
 * Shell commands, made from the declarations: log in, create an Entity and those it refers to, delete it, and restore
 * it.
 */
export function tourOf(
  model: Model,
  url: string,
  { email, password }: { email: string; password: string },
): string {
  const star = mostTelling(model)
  const lines = [
    `API=${url}/api`,
    `TOKEN=$(curl -s $API/auth/login ${JSON_HEADER} -d '${JSON.stringify({ email, password })}' | sed -n 's/.*"token":"\\([^"]*\\)".*/\\1/p')`,
  ]
  if (star === undefined) return indent([...lines, `curl -s $API/auth/me ${TOKEN_HEADER}`])
  const made = new Map<string, string>()
  for (const type of [...targetsOf(star, model), star]) {
    const variable = type.name.toUpperCase()
    lines.push(`${variable}=$(${post(type, model, made)} | ${TAKE_ID})`)
    made.set(type.name, variable)
  }
  const one = `$API/${star.name}/$${star.name.toUpperCase()}/`
  return indent([
    ...lines,
    `curl -s ${one} ${TOKEN_HEADER}; echo                        # there it is`,
    `curl -s -X DELETE ${one} ${TOKEN_HEADER}; echo              # deleted`,
    `curl -s ${one} ${TOKEN_HEADER}; echo                        # and gone`,
    `curl -s -X DELETE "${one}?restore=1" ${TOKEN_HEADER}; echo  # taken back`,
  ])
}

const JSON_HEADER = '-H "Content-Type: application/json"'
const TOKEN_HEADER = '-H "Authorization: Bearer $TOKEN"'
const TAKE_ID = `sed -n 's/^{"id":\\([0-9]*\\).*/\\1/p'`

/** Chooses the type that shows most: preferably one with a reference and an object. */
function mostTelling(model: Model): EntityType | undefined {
  const weight = (type: EntityType) => {
    const fields = [...walk(type.fields)]
    const references = fields.some(({ kind }) => kind === 'reference') ? 2 : 0
    return references + (fields.some(({ kind }) => kind === 'object') ? 1 : 0)
  }
  return [...model.entities.values()]
    .filter((type) => type.login === undefined)
    .sort((a, b) => weight(b) - weight(a))[0]
}

/** The types to create first, in order. Optional references to login types are left out. */
function targetsOf(type: EntityType, model: Model, seen = new Set([type.name])): EntityType[] {
  return [...walk(type.fields)].flatMap((field) => {
    const refers = field.kind === 'reference' || (field.kind === 'links' && field.min > 0)
    const target = refers ? model.entities.get(field.target) : undefined
    if (target === undefined || seen.has(target.name) || (field.optional && target.login !== undefined))
      return []
    seen.add(target.name)
    return [...targetsOf(target, model, seen), target]
  })
}

function post(type: EntityType, model: Model, made: ReadonlyMap<string, string>): string {
  const body = withReferences(sampleOf(type, model) as Record<string, unknown>, type.fields, made)
  // The text is in single quotes for the shell, which are closed around the variables with ids.
  const text = JSON.stringify(body)
    .replaceAll("'", "'\\''")
    .replace(/"\$([A-Z0-9_]+)"/g, `'$$$1'`)
  return `curl -s $API/${type.name}/ ${TOKEN_HEADER} ${JSON_HEADER} -d '${text}'`
}

function withReferences(
  body: Record<string, unknown>,
  fields: readonly Field[],
  made: ReadonlyMap<string, string>,
): object {
  const filled = new Map(Object.entries(body))
  for (const field of fields) {
    const inner = body[field.name]
    const variable = field.kind === 'reference' ? made.get(field.target) : undefined
    if (variable !== undefined) filled.set(field.name, { id: `$${variable}` })
    else if (field.kind === 'reference' && field.optional) filled.delete(field.name)
    else if (field.kind === 'links') filled.set(field.name, tourMembers(made.get(field.target), field.min))
    else if (field.kind === 'object' && typeof inner === 'object' && inner !== null)
      filled.set(field.name, withReferences(inner as Record<string, unknown>, field.fields, made))
  }
  return Object.fromEntries(filled)
}

/** Refers to the Entity created before, or to as few ids as the list needs. */
function tourMembers(variable: string | undefined, min: number): object[] {
  return variable === undefined
    ? Array.from({ length: min }, (_, at) => ({ id: at + 1 }))
    : [{ id: `$${variable}` }]
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join('\n')
}
