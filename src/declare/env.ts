/**
 * The value of an environment variable, for secrets and for settings that differ between servers. If the variable is
 * not set and `otherwise` is not given, the server does not start.
 */
export function env(name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise
  // The loader of the declaration reports this error with its line.
  if (value === undefined) throw new Error(`the environment variable ${name} is not set`)
  return value
}
