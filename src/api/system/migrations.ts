import { tablesOf } from '../../plan/tables/schema.ts'
import { structureFingerprint } from '../../store/migration/migrate.ts'
import { readStructure } from '../../store/migration/recorded.ts'
import type { Answer, Context } from '../context.ts'
import { refTo, SYSTEM } from '../description.ts'
import { serverEndpoint } from '../endpoint.ts'

/** `GET /api/system/migrations/` */
async function migrations({ model, store, legacy }: Context): Promise<Answer> {
  const { format, generation, fingerprint, aside } = await readStructure(store)
  // The start has made all changes. If the structure differs now, another instance has changed it.
  const isCurrent = fingerprint === structureFingerprint(tablesOf(model))
  const body = {
    format,
    generation,
    applied: legacy.steps.toReversed(),
    aside: aside.map((path) => ({ path, what: 'is no longer declared, but its data is kept' })),
    plan: isCurrent
      ? []
      : [{ path: '', what: 'another instance has started with another declaration', effect: 'safe' }],
  }
  return { status: 200, body: JSON.stringify(body) }
}

export const readMigrations = serverEndpoint({
  name: 'getMigrations',
  method: 'GET',
  path: '/api/system/migrations/',
  tag: SYSTEM,
  parameters: [],
  access: 'admins',
  describe: () => ({
    summary: 'Migrations of the database',
    description:
      'What migrations did to values of existing Entities, the last first, as of the start of this instance; what is kept aside; and what differs from the declaration now: nothing, unless another instance runs with another declaration.',
    answers: [{ status: 200, description: 'The migrations.', headers: [], schema: refTo('Migrations') }],
    codes: ['unauthenticated', 'forbidden'],
  }),
  run: migrations,
})
