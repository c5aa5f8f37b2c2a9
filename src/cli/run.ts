import pkg from '../../package.json'
import { closest } from '../declare/closest.ts'
import { StartError } from '../errors.ts'
import { helpOf, parseCommand } from './arguments.ts'
import { commandNames, loadCommand, loadCommands } from './commands.ts'

async function help(): Promise<string> {
  const commands = await loadCommands()
  return `Takeback ${pkg.version}: the backend where anything can be taken back.

${commands.map(({ usage, summary }) => `  ${usage}\n      ${summary}`).join('\n')}

  takeback <command> --help   more about a command
  takeback --version          the version`
}

/** Runs the command that the arguments name. Throws a `StartError` if it refuses. */
export async function runCommand(args: readonly string[]): Promise<void> {
  const [first = '--help'] = args
  if (['--help', '-h', 'help'].includes(first)) return console.log(await help())
  if (['--version', '-v'].includes(first)) return console.log(pkg.version)
  const command = await loadCommand(args)
  if (command === undefined) throw new StartError(unknownCommand(args))
  const rest = args.slice(command.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) return console.log(helpOf(command))
  await command.run(parseCommand(command, rest))
}

function unknownCommand(args: readonly string[]): string {
  const said =
    args
      .filter((arg) => !arg.startsWith('-'))
      .slice(0, 2)
      .join(' ') ||
    (args[0] ?? '')
  const guess = commandNames.find((name) => name.startsWith(`${args[0]} `)) ?? closest(said, commandNames)
  return guess === undefined
    ? `There is no command "${said}": "takeback --help" lists them.`
    : `There is no command "${said}"; did you mean "takeback ${guess}"?`
}
