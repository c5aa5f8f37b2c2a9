/** Names that are reserved by the API, the databases or Takeback's own tables. */
const TAKEN_ENTITIES = [
  'api',
  'auth',
  'login',
  'health',
  'operations',
  'changes',
  'batch',
  'openapi',
  'docs',
  'metrics',
  'may',
  'model',
  'console',
  'system',
  // A table of this name would hide a function that statements call.
  'json_each',
]
/** Prefixes of actors that are not users, as in `keys/7` or `jobs/nightly`. A login type cannot have such a name. */
export const TAKEN_LOGINS = ['keys', 'jobs', 'reactions']
export const ENTITY_NAME = /^[a-z][a-z0-9_]{0,62}$/

/** The problem with the name of a type, if there is one. */
export function entityNameProblem(name: string): string | undefined {
  if (!ENTITY_NAME.test(name))
    return 'must be named with lower-case letters, digits and _, starting with a letter, at most 63 characters'
  return TAKEN_ENTITIES.includes(name) || /^(takeback|sqlite|pg|pragma)_|_(pkey|id_seq)$/.test(name)
    ? 'is a name that Takeback itself uses; choose another'
    : undefined
}
