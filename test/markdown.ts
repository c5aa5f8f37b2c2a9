import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'

const root = join(import.meta.dir, '..')

/** A fenced block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** The paragraph above it. */
  readonly said: string
}

/** All pages for users, relative to the project's folder. */
export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...new Glob('docs/*.md').scanSync(root),
].sort()

export function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

export function blocksOf(page: string): Block[] {
  const source = readPage(page)
  return [...source.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((found) => {
    const above = source.slice(0, found.index).trimEnd()
    return {
      language: found[1] ?? '',
      text: found[2] ?? '',
      said: above.slice(above.lastIndexOf('\n\n') + 1).trim(),
    }
  })
}

/** A command and its documented answer; undefined if the page shows none. */
export interface Typed {
  readonly command: string
  readonly answer: string | undefined
}

/** In `sh`, all lines are commands, and a comment with an answer ends one. In `console`, `$ ` starts a command. */
export function commandsOf({ language, text }: Block): Typed[] {
  return language === 'console' ? sessionOf(text) : scriptOf(text)
}

function sessionOf(text: string): Typed[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...answer] = part.trimEnd().split('\n')
      return { command, answer: answer.join('\n').trimEnd() }
    })
}

/** Splits a script into whole commands: not within quotes or braces, or after a backslash. */
function scriptOf(text: string): Typed[] {
  const typed: Typed[] = []
  let command = ''
  for (const line of text.trimEnd().split('\n')) {
    const last = typed.at(-1)
    if (command === '' && line.startsWith('# {') && last !== undefined) {
      typed[typed.length - 1] = { command: last.command, answer: line.slice(2) }
      continue
    }
    command += `${line}\n`
    if (!isWhole(command)) continue
    if (command.trim() !== '' && !/^\s*#/.test(command))
      typed.push({ command: command.trimEnd(), answer: undefined })
    command = ''
  }
  if (command !== '') throw new Error(`not a whole command: ${command}`)
  return typed
}

function isWhole(command: string): boolean {
  if (command.trimEnd().endsWith('\\')) return false
  return Bun.spawnSync(['bash', '-n', '-c', command]).exitCode === 0
}

/** The value of a block that is a whole file, with a default export and imports from `takeback` only. */
export function exportedBy({ text }: Block, takeback: object): unknown {
  const code = new Bun.Transpiler({ loader: 'ts' }).transformSync(text)
  const source = code.replace(/^import [^;]*;/, '').replace('export default', 'return')
  return new Function(...Object.keys(takeback), source)(...Object.values(takeback))
}
