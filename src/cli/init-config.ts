/** The small declaration that a new project starts from. */
export const template = `// This file declares everything that the backend serves. Change it and restart: the API changes with it.
import { app, boolean, date, entity, everyone, list, ref, signedIn, text } from 'takeback'

export default app({
  admins: 'admins', // users of this type may do everything

  entities: {
    // Users of a type with \`login\` have an e-mail and a password.
    admins: entity({ login: { userType: 'admin' }, fields: {} }),
    users: entity({
      login: { userType: 'user' },
      fields: { name: text({ max: 120 }) },
      access: { create: everyone, read: signedIn, update: 'id == me.id' }, // anyone may sign up
    }),

    // /api/projects/ and /api/tasks/
    projects: entity({
      fields: { title: text({ min: 1, max: 200, unique: true }), members: list(ref('users', { onDelete: 'clear' })) },
      // Rules: who may do what. \`me\` is the caller. Without a rule, only admins may.
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
        project: ref('projects', { onDelete: 'cascade' }), // deleted and restored with its project
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
