import type { Command } from './arguments.ts'

/** Every command, in the order in which the help shows them. Each is loaded when it is used. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  dev: async () => (await import('./dev.ts')).devCommand,
  init: async () => (await import('./init.ts')).init,
  'rules test': async () => (await import('./rules-test.ts')).rulesTest,
  types: async () => (await import('./types.ts')).typesCommand,
  mcp: async () => (await import('./mcp.ts')).mcpCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  copy: async () => (await import('./copy.ts')).copyCommand,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  check: async () => (await import('./check.ts')).checkCommand,
  'user add': async () => (await import('./user.ts')).userAdd,
  'user list': async () => (await import('./user-list.ts')).userList,
  'user unlock': async () => (await import('./user-unlock.ts')).userUnlock,
  'sessions end': async () => (await import('./sessions.ts')).sessionsEnd,
  'keys list': async () => (await import('./keys.ts')).keysList,
  'keys end': async () => (await import('./keys.ts')).keysEnd,
  history: async () => (await import('./past.ts')).historyCommand,
  undo: async () => (await import('./past.ts')).undoCommand,
  'trash list': async () => (await import('./trash.ts')).trashList,
  'trash purge': async () => (await import('./trash.ts')).trashPurge,
  'jobs list': async () => (await import('./jobs.ts')).jobsList,
  'jobs run': async () => (await import('./jobs.ts')).jobsRun,
  'reactions list': async () => (await import('./reactions.ts')).reactionsList,
  'reactions retry': async () => (await import('./reactions.ts')).reactionsRetry,
  vacuum: async () => (await import('./vacuum.ts')).vacuum,
  'retention confirm': async () => (await import('./retention.ts')).retentionConfirm,
  'webhooks list': async () => (await import('./webhooks.ts')).webhooksList,
  'webhooks resend': async () => (await import('./webhooks.ts')).webhooksResend,
}

export const commandNames: readonly string[] = Object.keys(loaders)

/** Loads the command that the arguments begin with. */
export function loadCommand(args: readonly string[]): Promise<Command> | undefined {
  const name = commandNames.find((one) => args.slice(0, one.split(' ').length).join(' ') === one)
  return name === undefined ? undefined : loaders[name]?.()
}

/** Loads all commands, for the help. */
export function loadCommands(): Promise<Command[]> {
  return Promise.all(Object.values(loaders).map((load) => load()))
}
