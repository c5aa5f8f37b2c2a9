import pkg from '../../package.json'
import { closest } from '../declare/closest.ts'
import { StartError } from '../errors.ts'
import { endProcess } from '../store/libc.ts'
import { helpOf, parseCommand } from './arguments.ts'
import { commandNames, loadCommand, loadCommands } from './commands.ts'

async function help(): Promise<string> {
  const commands = await loadCommands()
  return `Takeback ${pkg.version}: the backend where anything can be taken back.

${commands.map(({ usage, summary }) => `  ${usage}\n      ${summary}`).join('\n')}

  takeback <command> --help   more about a command
  takeback --version          the version`
}

async function main(args: readonly string[]): Promise<void> {
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

// Set to 0 only at the end: a config file that never finishes loading would otherwise exit with 0.
process.exitCode = 1

main(process.argv.slice(2)).then(
  () => {
    process.exitCode = 0
  },
  (error: unknown) => {
    console.error(error instanceof StartError ? error.message : error)
    endProcess(1)
  },
)
