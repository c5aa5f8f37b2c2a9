import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { isRecord } from '../declare/record.ts'
import { StartError } from '../errors.ts'
import { homeOf, isBinary } from '../packaging.ts'
import type { Command } from './arguments.ts'
import { template } from './init-config.ts'
import { helpOption } from './options.ts'

const CONFIG = 'takeback.config.ts'

export const init: Command = {
  name: 'init',
  usage: 'takeback init [FOLDER]',
  summary: `Creates a small project: ${CONFIG} and the files around it. Never overwrites a file.`,
  options: helpOption,
  async run({ words }) {
    if (words.length > 1) throw new StartError('takeback init takes one folder.')
    const folder = resolve(words[0] ?? '.')
    const file = join(folder, CONFIG)
    if (existsSync(file)) throw new StartError(`${file} already exists. Nothing was changed.`)
    // The binary needs no packages.
    const installed = isBinary() || isInstalled(folder)
    let wrote: string[]
    try {
      mkdirSync(folder, { recursive: true })
      wrote = writeProject(folder, installed)
    } catch (error) {
      throw new StartError(`${file} cannot be written: ${(error as Error).message}.`)
    }
    const enter = relative(process.cwd(), folder)
    const steps = [...(enter === '' ? [] : [`cd ${enter}`]), ...(installed ? [] : ['npm install'])]
    console.log(
      `Wrote ${wrote.join(', ')} in ${folder}. Now:\n\n  ${[...steps, isBinary() ? 'takeback serve' : 'npx takeback serve'].join(' && ')}`,
    )
  },
}

/** Writes the files that do not exist yet. `.gitignore` keeps databases, backups and their secrets out of commits. */
function writeProject(folder: string, installed: boolean): string[] {
  const files: Record<string, string> = {
    [CONFIG]: template,
    'package.json': `${JSON.stringify(packageOf(folder, installed), null, 2)}\n`,
    'tsconfig.json': tsconfig,
    '.gitignore': 'node_modules/\ndata/\nbackups/\n*.db*\n',
  }
  return Object.entries(files).flatMap(([name, text]) => {
    const file = join(folder, name)
    if (existsSync(file)) return name === 'package.json' ? addType(file) : []
    writeFileSync(file, text, { flag: 'wx' })
    return [name]
  })
}

/** `npm install` writes a package.json without `type`. An existing `type` is not changed. */
function addType(file: string): string[] {
  const known = parse(readFileSync(file, 'utf8'))
  if (!isRecord(known) || 'type' in known) return []
  writeFileSync(file, `${JSON.stringify({ ...known, type: 'module' }, null, 2)}\n`)
  return ['"type": "module" to package.json']
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function packageOf(folder: string, installed: boolean): object {
  return {
    private: true,
    type: 'module',
    scripts: { start: 'takeback serve' },
    ...(!installed && {
      dependencies: { takeback: `file:${relative(folder, homeOf(join(import.meta.dir, '../..')))}` },
    }),
  }
}

/** Whether `import … from 'takeback'` resolves from this folder. */
function isInstalled(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', 'takeback', 'package.json'))) return true
  const above = dirname(folder)
  return above !== folder && isInstalled(above)
}

const tsconfig = `{
  "compilerOptions": {
    "target": "esnext",
    "module": "preserve",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "types": []
  },
  "include": ["*.ts"]
}
`
