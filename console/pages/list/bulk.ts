import type { OperationChange } from '../../../client/answers.ts'
import type { ApiRequest, ApiResponse } from '../../../client/transport.ts'
import { type EntityData, get, type Json, type Page, send } from '../../api.ts'
import type { Selection } from './selection.ts'
import type { View } from './view.ts'

/** An action on everything selected, as one operation. */
export type Bulk =
  | { readonly kind: 'update'; readonly body: Json }
  | { readonly kind: 'delete' }
  | { readonly kind: 'restore' }

/** The selected Entities. */
export interface Chosen {
  readonly entity: string
  readonly selection: Selection
  readonly view: View
}

/** What a bulk action would do. */
export interface BulkPreview {
  readonly total: number
  readonly changes: readonly OperationChange[]
  readonly plan: string
  readonly next: string | null
}

/** More Entities are selected than one batch can name. */
export class TooManySelected extends Error {}

interface Call {
  readonly method: string
  readonly path: string
  readonly sent: ApiRequest
}

/** A filter can hold about 97 values. */
const MOST_IN_FILTER = 90
/** The most parts that a batch can have. */
export const MOST_IN_BATCH = 1000
const PAGE = 200

async function callOf({ entity, selection, view }: Chosen, bulk: Bulk): Promise<Call> {
  // A write by a filter takes no search, and finds no deleted Entities.
  const isByFilter = selection.isAll && view.search === undefined && bulk.kind !== 'restore'
  if (isByFilter) return byFilter(entity, view.filter ?? 'true', bulk)
  const ids = selection.isAll ? await idsOf(entity, view) : [...selection.ids]
  if (ids.length <= MOST_IN_FILTER && bulk.kind !== 'restore')
    return byFilter(entity, `id in [${ids.join(', ')}]`, bulk)
  if (ids.length > MOST_IN_BATCH) throw new TooManySelected()
  return { method: 'POST', path: 'batch/', sent: { body: ids.map((id) => partOf(entity, id, bulk)) } }
}

function byFilter(entity: string, filter: string, bulk: Bulk): Call {
  const isUpdate = bulk.kind === 'update'
  return {
    method: isUpdate ? 'PATCH' : 'DELETE',
    path: `${entity}/`,
    sent: { query: { filter }, ...(isUpdate && { body: bulk.body }) },
  }
}

function partOf(entity: string, id: number, bulk: Bulk): Json {
  const path = `/api/${entity}/${id}/`
  if (bulk.kind === 'update') return { method: 'PATCH', path, body: bulk.body }
  return { method: 'DELETE', path: bulk.kind === 'restore' ? `${path}?restore=1` : path }
}

/** Returns the ids of all rows of a list. It stops at one more than a batch takes: that is too many already. */
async function idsOf(entity: string, { filter, search, trashed }: View): Promise<readonly number[]> {
  const ids: number[] = []
  let cursor: string | null | undefined
  do {
    const query = { filter, search, trashed, fields: 'id', limit: PAGE, cursor }
    const page: Page<EntityData> = await get(`${entity}/`, query)
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.next
  } while (cursor !== null && ids.length <= MOST_IN_BATCH)
  return ids
}

/** Returns a page of what would be done. */
export async function previewBulk(chosen: Chosen, bulk: Bulk, cursor?: string): Promise<BulkPreview> {
  const { method, path, sent } = await callOf(chosen, bulk)
  const query = { ...sent.query, dry_run: 1, cursor }
  const { body } = await send(method, path, { ...sent, query, repeat: 'always' })
  return body as BulkPreview
}

/** Does exactly what the preview has shown, or nothing. */
export async function runBulk(chosen: Chosen, bulk: Bulk, plan: string): Promise<ApiResponse> {
  const { method, path, sent } = await callOf(chosen, bulk)
  return send(method, path, { ...sent, query: { ...sent.query, plan } })
}
