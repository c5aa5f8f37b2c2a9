import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { StartError } from '../errors.ts'
import type { Command } from './arguments.ts'
import { helpOption } from './options.ts'

export const init: Command = {
  name: 'init',
  usage: 'takeback init [FOLDER]',
  summary: 'Writes a small takeback.config.ts to start from. Never overwrites one.',
  options: helpOption,
  async run({ words }) {
    if (words.length > 1) throw new StartError('takeback init takes one folder.')
    const folder = resolve(words[0] ?? '.')
    const file = join(folder, 'takeback.config.ts')
    if (existsSync(file)) throw new StartError(`${file} is there already: it was left as it is.`)
    try {
      mkdirSync(folder, { recursive: true })
      writeFileSync(file, template, { flag: 'wx' })
    } catch (error) {
      throw new StartError(`${file} cannot be written: ${(error as Error).message}.`)
    }
    const enter = relative(process.cwd(), folder)
    console.log(`Wrote ${file}. Now:\n\n  ${enter === '' ? '' : `cd ${enter} && `}npx takeback serve`)
  },
}

const template = `// Everything that this backend serves is declared here. Change it, start anew, and the API has changed.
import { app, boolean, date, entity, everyone, list, ref, signedIn, text } from 'takeback'

export default app({
  admins: 'admins', // members of this type may do everything

  entities: {
    // A type that logs in has an e-mail and a password.
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user' },
      fields: { name: text({ max: 120 }) },
      access: { create: everyone, read: signedIn, update: 'id == me.id' }, // anybody may sign up
    }),

    // /api/projects/ and /api/tasks/
    projects: entity({
      fields: { title: text({ min: 1, max: 200, unique: true }), members: list(ref('users', { onDelete: 'clear' })) },
      // Who may: \`me\` is whoever asks. Without a rule, only admins may.
      access: {
        create: 'me.id in members',
        read: 'me.id in members',
        update: 'me.id in members && me.id in next.members',
        delete: 'me.id in members',
        restore: 'me.id in members',
      },
    }),
    tasks: entity({
      fields: {
        title: text({ min: 1, max: 200 }),
        done: boolean({ default: false }),
        due: date({ optional: true }),
        project: ref('projects', { onDelete: 'cascade' }), // goes with its project, and comes back with it
        assignee: ref('users', { optional: true, onDelete: 'clear' }),
      },
      access: {
        create: 'me.id in project.members',
        read: 'me.id in project.members',
        update: 'me.id in project.members && me.id in next.project.members',
        delete: 'me.id in project.members',
        restore: 'me.id in project.members',
      },
    }),
  },
})
`
