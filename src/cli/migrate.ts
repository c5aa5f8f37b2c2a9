import { loadModel } from '../app.ts'
import type { Model } from '../declare/model.ts'
import { StartError } from '../errors.ts'
import { brokenChecks } from '../plan/condition/checks.ts'
import { tablesOf } from '../plan/tables/schema.ts'
import { describeLocation } from '../store/location.ts'
import { dropAside, findAside } from '../store/migration/drop.ts'
import { migrate as carryOut, type Preview, preview } from '../store/migration/migrate.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import type { Command, GivenArguments } from './arguments.ts'
import { confirm } from './confirm.ts'
import { helpOption, keptConfigOf, storeOptions } from './options.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  usage: 'takeback migrate [--apply] [--json] [--drop PATH … [--yes]]',
  summary: 'Shows what a changed declaration does to the database, or does it.',
  options: {
    apply: { value: undefined, help: 'migrate the database; also back to an older declaration' },
    json: { value: undefined, help: 'print the plan as JSON, for programs' },
    drop: {
      value: 'PATH',
      many: true,
      help: 'drop data that is kept aside, such as rooms.size or rooms, for good, after asking',
    },
    yes: { value: undefined, help: 'do not ask' },
    ...storeOptions,
    ...helpOption,
  },
  details: '"takeback serve" makes safe changes when it starts, and does not start if any change is refused.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback migrate does not take "${given.words[0]}": its flags begin with --.`)
    const config = keptConfigOf(given)
    const drops = given.texts('drop').length > 0
    const model = drops ? undefined : await loadModel(config.file)
    const store = await openStore(config.database, { mustExist: drops })
    try {
      if (model === undefined) return await drop(store, given)
      await plan(store, model, given, describeLocation(config.database))
    } finally {
      await store.close()
    }
  },
}

async function plan(store: Store, model: Model, given: GivenArguments, place: string): Promise<void> {
  const tables = tablesOf(model)
  const broken = brokenChecks(model, store.dialect)
  const migration = await preview(store.structure, tables, broken)
  const refused = linesWith(migration, 'refused') > 0
  const apply = given.text('apply') !== undefined && !refused
  if (apply) await carryOut(store.structure, tables, { back: true, broken })
  console.log(given.text('json') === undefined ? report(migration, place, apply) : asJson(migration, apply))
  if (refused) throw new StartError('The database cannot be migrated while a change is refused.')
  if (!apply && migration.older !== undefined) throw new StartError(migration.older)
}

const effects = ['safe', 'aside', 'refused'] as const

function linesWith({ lines }: Preview, effect: (typeof effects)[number]): number {
  return lines.filter((line) => line.effect === effect).length
}

function asJson(migration: Preview, applied: boolean): string {
  const counts = Object.fromEntries(effects.map((effect) => [effect, linesWith(migration, effect)]))
  return JSON.stringify(
    {
      ...counts,
      older: migration.older !== undefined,
      applied,
      declaration: migration.declaration,
      lines: migration.lines,
    },
    null,
    2,
  )
}

function report(migration: Preview, place: string, applied: boolean): string {
  const [safe, aside, refused] = effects.map((effect) => linesWith(migration, effect))
  const lines = effects.flatMap((effect) =>
    migration.lines
      .filter((line) => line.effect === effect)
      .map(({ path, what }) => `  ${effect.padEnd(7)}  ${path} ${what}`),
  )
  return [
    `${place}: ${safe} safe, ${aside} kept aside, ${refused} refused.`,
    ...(lines.length > 0 ? ['', ...lines] : []),
    ...(advice(migration, applied) === '' ? [] : ['', advice(migration, applied)]),
  ].join('\n')
}

function advice(migration: Preview, applied: boolean): string {
  if (applied) return 'Done.'
  if (linesWith(migration, 'refused') > 0 || migration.older !== undefined) return ''
  if (linesWith(migration, 'safe') > 0)
    return 'Run "takeback migrate --apply" to migrate now; the next "takeback serve" does it too.'
  return 'The database is up to date.'
}

async function drop(store: Store, given: GivenArguments): Promise<void> {
  const doomed = await findAside(store.structure, given.texts('drop'))
  for (const { path, rows } of doomed)
    console.log(
      `${path} will be dropped for good, with the data of ${rows === 1 ? '1 row' : `${rows} rows`}.`,
    )
  if (given.text('yes') === undefined && !(await confirm('Drop it?')))
    return console.log('Nothing was dropped.')
  await dropAside(store.structure, doomed)
  await store.scrub()
  console.log('Dropped.')
}
