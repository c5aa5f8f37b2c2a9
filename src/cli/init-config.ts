/** The small declaration that a new project starts from. */
export const template = `// Everything that this backend serves is declared here. Change it, start anew, and the API has changed.
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
