import { isIP } from 'node:net'
import { relyingPartyOf } from '../../account/relying-party.ts'
import { budget } from '../../budget.ts'
import { no } from '../../declare/cel/expression.ts'
import { actions } from '../../declare/define.ts'
import { type EntityType, type Field, passwordMin, walk } from '../../declare/model.ts'
import type { Plan } from '../../plan/compile.ts'
import { type Actor, passesRules, system } from '../../plan/viewer/actor.ts'
import type { Viewer } from '../../plan/viewer/viewer.ts'
import { openOffer } from '../account/first-admin.ts'
import { signsUp } from '../account/sign-up.ts'
import type { Call } from '../call.ts'
import type { Answer, Context } from '../context.ts'
import { refTo, SERVICE } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'
import { isSeenColumn, mayAny, possible, referrersSeen } from './model-access.ts'
import { describeFields, ruleTexts } from './model-fields.ts'
import { modelSchemas } from './model-schemas.ts'

/** The types as JSON, once for each Viewer: all whom it stands for may know the same. */
const known = new WeakMap<Viewer, string>()

/** `GET /api/model/` */
async function readModel(context: Context, call: Call): Promise<Answer> {
  const { actor } = call.caller
  const [anyPlan] = context.plans.values()
  const viewer = anyPlan?.view(actor).viewer
  const found =
    viewer === undefined ? '[]' : (known.get(viewer) ?? JSON.stringify(typesFor(context, actor, viewer)))
  if (viewer !== undefined) known.set(viewer, found)
  const rest = {
    admin: passesRules(actor),
    sign_in: { ...signInOf(context, viewer), first_admin: await firstAdminOf(context) },
    limits: LIMITS,
    version: context.settings.version,
    declaration: Bun.hash.rapidhash(found).toString(36),
  }
  const body = `{"entities":${found},${JSON.stringify(rest).slice(1)}`
  return { status: 200, body, headers: { ETag: `"${Bun.hash.rapidhash(body).toString(36)}"` } }
}

const LIMITS = Object.freeze({
  batch: budget.batchParts,
  list: budget.pageEntities,
  list_default: budget.pageDefault,
  matching: budget.filteredEntities,
  body_bytes: budget.bodyBytes,
  filter_bytes: budget.expressionBytes,
  sort_keys: budget.sortKeys,
  expand_paths: budget.expandPaths,
})

function typesFor(context: Context, actor: Actor, viewer: Viewer): object[] {
  const passes = passesRules(actor)
  return [...context.plans.values()]
    .filter(({ type }) => mayAny(viewer, type))
    .map((plan) => typeFor(context, { plan, viewer, passes }))
}

interface Described {
  readonly plan: Plan
  readonly viewer: Viewer
  readonly passes: boolean
}

function typeFor(context: Context, { plan, viewer, passes }: Described): object {
  const { type } = plan
  const knows = (name: string) => {
    const other = context.model.entities.get(name)
    return other !== undefined && mayAny(viewer, other)
  }
  const seen = viewer.may(type, 'read') === no ? [] : viewer.seen(type)
  return {
    name: type.name,
    label: type.label ?? null,
    description: type.description ?? null,
    title: titleOf(type, seen),
    may: {
      list: viewer.may(type, 'read') !== no,
      ...Object.fromEntries(actions.map((action) => [action, possible(viewer.may(type, action))])),
    },
    fields: describeFields({ viewer, type, passes, knows }),
    unique: type.uniques.filter((one) => one.every((column) => isSeenColumn(seen, column))),
    referrers: referrersSeen(context.plans, viewer, type).map(({ from, field }) => ({
      entity: from.name,
      path: field.path,
      as: field.as ?? null,
      on_delete: field.onDelete,
      list: field.kind === 'links',
      ...(field.kind === 'links' && field.item !== undefined && { member: field.member }),
    })),
    checks: type.checks
      .filter(({ at }) => isSeenColumn(seen, at))
      .map(({ at, says, that }) => ({ at, says, ...(passes && { that }) })),
    search: [...walk(seen)].some((field) => field.kind === 'value' && field.search),
    retention: { trash_ms: type.retention.trash ?? null, journal_ms: type.retention.journal ?? null },
    login: loginOf(plan),
    ...(passes && { rules: declaredRules(type) }),
  }
}

/** The declared title, else the first text or e-mail outside of objects, of the fields that the viewer sees. */
function titleOf(type: EntityType, seen: readonly Field[]): string | null {
  const all = [...walk(seen)]
  const first = (kind: string) => seen.find((field) => field.kind === 'value' && field.type === kind)
  const declared = type.title === undefined ? undefined : all.find(({ path }) => path === type.title)
  return (declared ?? first('text') ?? first('email'))?.path ?? null
}

function loginOf(plan: Plan): object | null {
  const { login } = plan.type
  if (login === undefined) return null
  return {
    user_type: login.userType,
    login_with: 'email',
    verify: login.verify,
    second: login.second ?? 'none',
    sign_up: signsUp(plan),
    password_min: passwordMin(plan.type),
  }
}

/** The rules of a type as declared, for viewers who pass all of them. */
function declaredRules(type: EntityType): object {
  return {
    access: ruleTexts(type.access),
    named: Object.fromEntries([...type.rules.values()].map(({ name, text }) => [name, text])),
  }
}

function signInOf(context: Context, viewer: Viewer | undefined): object {
  const { model, plans, providers, settings } = context
  const types = model.logins.flatMap((type): object[] => {
    const plan = plans.get(type.name)
    if (plan === undefined) return []
    const shown = signsUp(plan) || (viewer !== undefined && mayAny(viewer, type))
    return [{ ...loginOf(plan), entity: shown ? type.name : null }]
  })
  const { id } = relyingPartyOf(settings.mail.url, [...settings.returnOrigins])
  return {
    types,
    providers: [...providers.keys()].map((name) => ({
      name,
      label: name.charAt(0).toUpperCase() + name.slice(1),
      start: `${settings.mail.url}/api/auth/providers/${name}/start`,
    })),
    // Browsers make no passkeys for IP addresses.
    passkeys: types.length > 0 && isIP(id) === 0,
  }
}

/** The fields of the form for the first admin; `null` once there is one. */
async function firstAdminOf(context: Context): Promise<object | null> {
  const offer = await openOffer(context)
  if (offer === undefined) return null
  const { type } = offer.plan
  const { viewer } = offer.plan.view(system)
  const fields = describeFields({ viewer, type, passes: false, knows: () => false })
  return {
    user_type: type.login?.userType,
    password_min: passwordMin(type),
    fields: fields.filter(({ required, path }) => required && !['email', 'password'].includes(path)),
  }
}

export const getModel = serverEndpoint({
  name: 'getModel',
  method: 'GET',
  path: '/api/model/',
  tag: SERVICE,
  parameters: ['If-None-Match'],
  access: 'everyone',
  schemas: () => modelSchemas,
  describe: () => ({
    summary: 'The Entity types',
    description:
      'All that the caller may know of the declaration: Entity types with their fields, what the caller may do with them, and how to sign in. Types and fields that the caller can neither read nor write are left out. Admins also get the rules.',
    answers: [
      { status: 200, description: 'What the caller may know.', headers: ['ETag'], schema: refTo('Model') },
      { status: 304, description: 'Unchanged: the ETag is one of `If-None-Match`.', headers: ['ETag'] },
    ],
    codes: [],
  }),
  run: readModel,
})
