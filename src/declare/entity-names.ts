/** Names that the API, the databases or the tables themselves have taken. */
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
/** Actors besides users are called so in operations: `keys/7`, `jobs/nightly`. No type that logs in may have such a name. */
export const TAKEN_LOGINS = ['keys', 'jobs', 'reactions']
export const ENTITY_NAME = /^[a-z][a-z0-9_]{0,62}$/

/** What is wrong with the name of a type, if anything is. */
export function entityNameProblem(name: string): string | undefined {
  if (!ENTITY_NAME.test(name))
    return 'must be named with lower-case letters, digits and _, starting with a letter, at most 63 characters'
  return TAKEN_ENTITIES.includes(name) || /^(takeback|sqlite|pg|pragma)_|_(pkey|id_seq)$/.test(name)
    ? 'is a name that Takeback itself uses; choose another'
    : undefined
}
