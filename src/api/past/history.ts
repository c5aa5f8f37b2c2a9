import { yes } from '../../declare/cel/expression.ts'
import type { Field } from '../../declare/model.ts'
import { addError, type Errors, Failure, invalid } from '../../errors.ts'
import { differenceOf, journalledDifference } from '../../journal/difference.ts'
import type { Upcaster } from '../../journal/upcast.ts'
import type { Plan } from '../../plan/compile.ts'
import { pageColumns, type versionColumns } from '../../plan/past/history.ts'
import { entityState } from '../../plan/view/entity-row.ts'
import { type Actor, actorName, system } from '../../plan/viewer/actor.ts'
import { type Answer, allow, allowed, type Context, callerParams, refusal } from '../context.ts'
import { refTo } from '../description.ts'
import { entityEndpoint } from '../endpoint.ts'
import { parseId } from '../id.ts'
import { knowledgeOf } from '../knowledge.ts'
import { notesOf } from '../notes.ts'
import { perform } from '../perform.ts'
import type { Query } from '../query.ts'
import { limitOf } from '../read/list.ts'
import { changedSecrets, shownSecrets } from './changed-secrets.ts'
import { changeSchemas } from './past-schemas.ts'

interface HistoryReading {
  readonly id: number
  readonly query: Query<'limit' | 'cursor'>
}

/** `GET /api/<entity>/<id>/history/`: every change, newest first. */
export async function history(
  context: Context,
  plan: Plan,
  actor: Actor,
  { id, query }: HistoryReading,
): Promise<Answer> {
  allow(plan, 'read', actor)
  allow(plan, 'history', actor)
  const errors: Errors = new Map()
  const given = query.take(errors)
  const limit = limitOf(given.limit, errors)
  const before =
    given.cursor === undefined ? Number.MAX_SAFE_INTEGER : openHistoryCursor(plan, id, given.cursor)
  if (before === undefined) addError(errors, 'cursor', 'is not a cursor of this history')
  if (errors.size > 0) throw invalid(errors)
  await refuseHidden(context, plan, actor, id)

  // One more than is shown: the oldest change is computed from it.
  const found = await context.store.read(plan.history.page(limit + 1), { $id: id, $before: before ?? 0 })
  const rows = found.map(pageColumns.read)
  if (rows.length === 0 && given.cursor === undefined) throw new Failure('not_found')
  const known = await perform(context.store, knowledgeOf(context, actor, [[plan.type.name, id]]))
  const { fields } = known.get(`${plan.type.name}/${id}`) ?? plan.view(actor)
  // If the size limit cut the page, the last row only serves to compute the change above it.
  const picked = Number(rows[0]?.picked ?? 0)
  const shown = rows.slice(0, rows.length < picked ? Math.max(1, rows.length - 1) : limit)
  const upcaster = context.upcasterOf(plan.type.name)
  const newest = given.cursor === undefined ? migratedOf(fields, upcaster, shown[0]) : []
  const secrets = await perform(context.store, changedSecrets(context, actor, [[plan.type.name, id]]))
  const ofVersion = (version: number) => secrets(plan.type.name, id, version)
  const data = [...newest, ...(await changesIn(context, { fields, upcaster, shown, rows, ofVersion }))]
  const last = picked > shown.length ? shown.at(-1) : undefined
  const next = last === undefined ? null : historyCursor(plan, id, Number(last.version))
  return { status: 200, body: JSON.stringify({ data, next }) }
}

interface HistoryPage {
  readonly fields: readonly Field[]
  readonly upcaster: Upcaster
  readonly shown: readonly VersionRow[]
  /** The shown versions, and the one before the oldest of them. */
  readonly rows: readonly VersionRow[]
  /** The secrets that a version has changed. */
  ofVersion(version: number): readonly string[]
}

/** The shown changes, each with what migrations had changed before it. */
async function changesIn(
  context: Context,
  { fields, upcaster, shown, rows, ofVersion }: HistoryPage,
): Promise<object[]> {
  const operations = new Set(shown.map(({ operation }) => operation))
  const notes = await perform(context.store, notesOf(context, [...operations]))
  return shown.flatMap((row, at) => [
    {
      ...versionChange(fields, upcaster, row, rows[at + 1]),
      ...shownSecrets(ofVersion(Number(row.version))),
      ...notes.get(String(row.operation)),
    },
    ...migratedOf(fields, upcaster, rows[at + 1], row),
  ])
}

/** The history of a deleted Entity is for callers who may restore it; of a purged one, for those who may purge. */
async function refuseHidden(context: Context, plan: Plan, actor: Actor, id: number): Promise<void> {
  const { state: statement, may } = plan.view(actor)
  const [row] = await context.store.read(statement, { ...callerParams(actor), $id: id })
  const state = entityState(row)
  if (state === undefined) {
    if (may.purge !== yes) throw new Failure('not_found')
    return
  }
  allowed(plan, 'history', actor, state)
  if (state.deletion !== null && !state.may('restore')) throw refusal(plan, 'restore', actor, false)
}

type VersionRow = ReturnType<typeof versionColumns.read>

/** The change from the former version to this one; `null` if the values are no longer known. */
function versionChange(
  fields: readonly Field[],
  upcaster: Upcaster,
  { version, kind, at, actor, cause, operation, data }: VersionRow,
  former: VersionRow | undefined,
): object {
  const isNew = kind === 'create'
  const isKnown = isNew || (Number(former?.version) === Number(version) - 1 && former?.data !== null)
  const before = isNew ? null : (former?.data ?? null)
  return {
    version: Number(version),
    kind,
    at,
    actor,
    operation,
    ...(cause !== null && { cause }),
    changed: data === null || !isKnown ? null : journalledDifference(fields, upcaster, before, data),
  }
}

/** What migrations changed between this version and the next one, newest first. They make no versions. */
function migratedOf(
  fields: readonly Field[],
  upcaster: Upcaster,
  row: VersionRow | undefined,
  next?: VersionRow,
): object[] {
  if (row === undefined || row.data === null || next?.data === null) return []
  const until = next === undefined ? undefined : String(next.at)
  return upcaster
    .since(JSON.parse(String(row.data)), until)
    .toReversed()
    .map(({ operation, at, before, after }) => ({
      version: Number(row.version),
      kind: 'migrate',
      at,
      actor: actorName(system),
      operation,
      changed: differenceOf(fields, before, after),
    }))
    .filter(({ changed }) => Object.keys(changed).length > 0)
}

function historyCursor(plan: Plan, id: number, version: number): string {
  return Buffer.from(`${plan.type.name}/${id} ${version}`).toString('base64url')
}

function openHistoryCursor(plan: Plan, id: number, text: string): number | undefined {
  const [, place, version] = /^(\S+) (\d{1,16})$/.exec(Buffer.from(text, 'base64url').toString()) ?? []
  return place === `${plan.type.name}/${id}` ? Number(version) : undefined
}

const example = {
  version: 2,
  kind: 'delete',
  at: '2026-06-02T17:00:00.000Z',
  actor: 'admins/1',
  operation: '01973a2e-7c40-7000-8000-5f1d2c3b4a59',
  changed: { deleted_at: { from: null, to: '2026-06-02T17:00:00.000Z' } },
}

export const readHistory = entityEndpoint({
  name: 'history',
  method: 'GET',
  path: '/api/{entity}/{id}/history/',
  parameters: ['id', 'limit', 'cursor'],
  rule: { all: ['read', 'history'] },
  schemas: () => changeSchemas,
  describe: (about) => ({
    summary: `History of ${about.one}`,
    description: `Every change, newest first: who made it, when, in which operation, with the old and new values. To see the history of a deleted Entity, you must be allowed to restore it; of a purged one, to purge. ${about.access('read', 'history')}`,
    answers: [
      {
        status: 200,
        description: 'A page of changes.',
        headers: [],
        schema: refTo('History'),
        example: { data: [example], next: null },
      },
    ],
    codes: [...about.refusals('read', false), ...about.refusals('history', false), 'not_found'],
  }),
  run: (context, plan, { caller, id, query }) =>
    history(context, plan, caller.actor, { id: parseId(id), query }),
})
