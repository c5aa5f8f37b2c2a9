import { randomPassword } from '../account/passwords.ts'
import { offerToken, openOffer } from '../api/account/first-admin.ts'
import { callerParams } from '../api/context.ts'
import type { Running } from '../app.ts'
import { budget } from '../budget.ts'
import type { Config } from '../config.ts'
import { StartError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { system } from '../plan/viewer/actor.ts'
import { exposedFiles } from '../store/exposure.ts'
import { describeLocation } from '../store/location.ts'

/** Logs that the server is ready. At the first start it also creates an admin and prints a tour. */
export async function welcome(running: Running, config: Config, log: Log): Promise<void> {
  const made = await makeFirstAdmin(running, config)
  const first = `${await howToBegin(running, config)}${made ?? ''}`
  const { url, context } = running
  const docs = config.docs ? `${url}/docs` : undefined
  const console = config.console ? `${url}/console/` : undefined
  context.observer.emit({ kind: 'ready', url, database: describeLocation(config.database), console, docs })
  const files = exposedFiles(config.database)
  if (files.length > 0) context.observer.emit({ kind: 'database_exposed', files })
  if (config.explainDenials) context.observer.emit({ kind: 'denials_explained' })
  // Programs collect a JSON log, so the password must not go there.
  const pretty = config.log === 'pretty'
  if (first !== '' && pretty) log.print(first)
  if (first !== '' && !pretty) process.stderr.write(`${first}\n`)
  if (pretty) log.print('Press Ctrl-C to stop.')
}

/** Says where to create the account of the first admin; empty once somebody has one. */
async function howToBegin({ context, url }: Running, config: Config): Promise<string> {
  const offer = await openOffer(context)
  if (offer === undefined) return ''
  const token = offerToken(context, offer)
  return config.console
    ? `\nThere is no admin yet. Create your account in the console:\n\n  ${url}/console/#first-admin=${token}\n`
    : `\nThere is no admin yet. Create your account with\n\n  POST /api/auth/first-admin/ {"email", "password", "token": "${token}"}\n`
}

/** Creates the first admin only if there never was one: a deleted admin is not silently replaced. */
async function makeFirstAdmin(
  { context, url }: Running,
  { adminEmail }: Config,
): Promise<string | undefined> {
  const { admins } = context.model
  const plan = admins === undefined ? undefined : context.plans.get(admins)
  if (admins === undefined || plan?.login === undefined) return undefined
  const [any] = await context.store.read(plan.login.any, {})
  if (any !== undefined) return undefined
  const email = adminEmail ?? 'admin@example.com'
  const password = randomPassword()
  // Only the very first start needs these.
  const [{ tourOf }, { addUser }] = await Promise.all([import('./tour.ts'), import('./user.ts')])
  try {
    const added = Number((await addUser({ context }, admins, { email, password })).split('/')[1])
    const [row] = await context.store.read(plan.login.self, { ...callerParams(system), $id: added })
    if (row !== undefined) await context.temporary.mark(admins, added, String(plan.login.readSelf(row).hash))
    await context.firstAdmin.make(added)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    await context.firstAdmin.make(null)
    return `${adminEmail === undefined ? '' : `\n${error.message}`}\nOr on the command line: takeback user add ${admins} you@example.com --set name=value …\n`
  }
  return `
Or start on the command line: log in with this account, and it is yours. The password is shown only once, works for
${budget.temporaryPasswordHours} hours, and can be changed with POST /api/auth/password {"password", "new_password"}.

  e-mail    ${email}
  password  ${password}

Paste this into another terminal to try it:

${tourOf(context.model, url, { email, password })}
`
}
