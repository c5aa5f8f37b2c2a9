/**
 * The value of an environment variable: for secrets, and for what differs from one server to the next. Without a value
 * the server does not start, unless there is one to use otherwise.
 */
export function env(name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise
  // Whoever loads the declaration reports it, with its line.
  if (value === undefined) throw new Error(`the environment variable ${name} is not set`)
  return value
}
