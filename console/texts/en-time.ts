/** The words of the pages about time: overview, operations, trash, and the bar with which one goes back. */

type Verbs = Record<
  'create' | 'update' | 'delete' | 'restore' | 'purge' | 'migrate',
  readonly [string, string]
>

export const home = {}

export const time = {
  today: 'Today',
  yesterday: 'Yesterday',
}

const verbs: Verbs = {
  create: ['created ', ''],
  update: ['changed ', ''],
  delete: ['deleted ', ''],
  restore: ['restored ', ''],
  purge: ['purged ', ''],
  migrate: ['migrated ', ''],
}

export const operations = {
  /** Between the name of somebody and what they did. */
  has: '',
  /** What stands before, and behind, what was changed. */
  verbs,
  kinds: {
    create: 'Created',
    update: 'Changed',
    delete: 'Deleted',
    restore: 'Restored',
    purge: 'Purged',
    migrate: 'Migrated',
  },
  andMore: (count: number) => ` and ${count} more`,
  counted: (count: number, type: string) => `${count} ${type}`,
  /** The name of a type, within a sentence. */
  typeInSentence: (label: string) => label.toLowerCase(),
  others: ' and more',
  operation: 'Operation',
  emptyTitle: 'Nothing was done yet',
  empty: 'Everything that anybody changes appears here. Each of it can be looked at and taken back.',
  noneTitle: 'Nothing matches',
  none: 'Choose other filters, or a longer time.',
  clearFilters: 'Show all operations',
  more: 'Load older operations',
  end: 'That is all.',
  onlyOwn: 'You see your own operations. Admins see those of everybody.',
  filters: 'Filters',
  filterActor: 'By whom',
  filterActorHint: 'users/3',
  mine: 'Mine',
  filterType: 'Type',
  filterKind: 'What was done',
  any: 'All',
  since: 'From',
  until: 'To',
  run: 'Run',
  undoAll: 'Undo all of these…',
  select: (id: string) => `Select operation ${id}`,
  selected: (count: number) => `${count} selected`,
  undoSelected: 'Undo together…',
  clearSelection: 'Select none',
  takenBack: 'taken back',
  isUndo: 'undo',
  setOff: 'reaction',
  reason: 'Reason',
  undoThis: 'Undo…',
  redoThis: 'Redo…',
  who: 'By',
  when: 'When',
  changes: (count: number) => (count === 1 ? '1 change' : `${count} changes`),
  extent: 'What it changed',
  wentAlong: (count: number) => `${count} went along`,
  moreChanges: 'Show more changes',
  unknown: 'The values are no longer known, or not for you.',
  nothingThere: 'There is no such operation, or it is not yours.',
  causedBy: 'Because of',
  effects: 'What it set off',
  undoes: 'Takes back',
  undoneBy: 'Taken back by',
  wasUndoneBy: 'Was taken back by',
  emptyValue: 'empty',
  yes: 'yes',
  no: 'no',
  undo: {
    title: 'Undo',
    intro: (count: number) =>
      count === 1 ? 'This is what will happen:' : `This is what will happen, to ${count} Entities:`,
    restore: (count?: number) => `Comes back${count === undefined ? '' : ` (${count})`}`,
    delete: (count?: number) => `Is deleted${count === undefined ? '' : ` (${count})`}`,
    update: (count?: number) => `Is changed back${count === undefined ? '' : ` (${count})`}`,
    create: (count?: number) => `Is created${count === undefined ? '' : ` (${count})`}`,
    shown: (shown: number, total: number) => `The first ${shown} of ${total} are shown.`,
    more: 'Show more',
    nothing: 'There is nothing to take back: all of it is as it was before.',
    operations: (count: number) => `${count} operations are taken back together, as one.`,
    do: 'Undo',
    doRest: 'Undo the rest',
    changed: 'The data have changed since you opened this. Look again: this is what would happen now.',
    against: 'This stands against it',
    againstIntro: 'Nothing was changed. What do you want to do?',
    choices: 'What else',
    stays: 'Stays as it is',
    skip: 'Leave these as they are, and take back the rest',
    targets: 'Restore what they refer to as well',
    dependents: 'Delete what refers to them as well',
    withEffects: (count: number) =>
      count === 1
        ? 'Take back what it set off as well (1 operation)'
        : `Take back what it set off as well (${count} operations)`,
    secrets: (paths: string) => `${paths} is set back. Its value is never shown.`,
    notYours: 'You may not take this back.',
    done: 'Taken back.',
    changedSince: (path: string) => `${path} was changed since`,
    entityChanged: 'was changed since',
    deletedSince: 'was deleted since',
    restoredSince: 'was restored since',
    refersDeleted: 'refers to something that is deleted:',
    refersPurged: 'refers to something that was purged:',
    referredBy: 'something refers to it:',
    taken: (path: string) => `its value${path === '' ? '' : ` in ${path}`} is taken by`,
    purged: 'was purged: nothing of it is left',
    forbidden: 'is not yours to change',
    by: 'by',
  },
}

export const trash = {}
