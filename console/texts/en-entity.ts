/** The form of an Entity. */
export const entity = {
  new: (type: string) => `New in ${type}`,
  create: 'Create',
  created: (name: string) => `Created ${name}.`,
  saved: (name: string) => `Saved ${name}.`,
  discard: (fields: number) => (fields === 1 ? 'Discard the change' : `Discard ${fields} changes`),
  invalid: 'Some values are not right yet.',
  edit: 'Edit',
  duplicate: 'Duplicate',
  referrers: 'Referred to by',
  meta: { id: 'Id', version: 'Version', created: 'Created', updated: 'Updated' },
  conflict: {
    title: 'Somebody else saved first',
    intro: 'Others changed these fields while you were typing. Choose which value to keep for each.',
    yours: 'Yours',
    theirs: 'Theirs:',
    save: 'Save',
    later: 'Back to the form',
    updated: 'Changed just now:',
    changed: 'Also changed by others:',
    takeTheirs: 'Take theirs',
    keepYours: 'Keep yours',
  },
  required: 'Required',
  changed: 'Changed, not saved yet',
  notSet: 'Not set',
  yes: 'Yes',
  no: 'No',
  newSecret: 'Set a new one',
  byDefault: (value: string) => `Default: ${value}`,
  provided: {
    me: 'You, if left empty',
    now: 'Now, if left empty',
    server: 'Set by the server if left empty',
  },
  addObject: (field: string) => `Add ${field}`,
  removeObject: (field: string) => `Remove ${field}`,
  addItem: (field: string) => `Add to ${field}`,
  removeItem: (item: string) => `Remove ${item}`,
  item: (field: string, position: number) => `${field} ${position}`,
  move: (position: number, count: number) => `Move item ${position} of ${count}: arrow keys, or drag`,
  notFound: 'There is nothing here',
  notFoundWhy: 'It never existed, was purged, or you may not see it.',
  ref: {
    search: 'Search…',
    add: 'Search to add…',
    nothing: 'Nothing found',
    create: (text: string) => (text === '' ? 'Create new…' : `Create “${text}”…`),
    chosen: (field: string, name: string) => `${field}: ${name}. Change`,
    open: (name: string) => `Open ${name}`,
    clear: (field: string) => `Clear ${field}`,
    hidden: 'You may not see what this refers to.',
    moveHint: 'Alt and arrow keys move it',
  },
  json: {
    format: 'Format',
    mistake: (line: number, column: number) => `Not JSON yet: line ${line}, column ${column}`,
    wrong: (line: number, column: number, says: string) =>
      `is not JSON at line ${line}, column ${column}: ${says}`,
    nullInside: 'has a null inside an object, which a change cannot save: leave the key out instead',
  },
  kept: {
    found: 'You typed something here that is not saved:',
    noSecrets: 'Passwords and secrets are not included: type them again.',
    restore: 'Continue with it',
    discard: 'Discard it',
  },
  leave: {
    title: 'Leave without saving?',
    kept: 'Your changes are kept in this tab. Come back to continue.',
    stay: 'Stay',
    leave: 'Leave',
  },
  limits: {
    characters: {
      between: (min: string, max: string) => `${min} to ${max} characters`,
      min: (min: string) => `at least ${min} ${min === '1' ? 'character' : 'characters'}`,
      max: (max: string) => `at most ${max} ${max === '1' ? 'character' : 'characters'}`,
    },
    items: {
      between: (min: string, max: string) => `${min} to ${max} items`,
      min: (min: string) => `at least ${min} ${min === '1' ? 'item' : 'items'}`,
      max: (max: string) => `at most ${max} ${max === '1' ? 'item' : 'items'}`,
    },
    values: {
      between: (min: string, max: string) => `${min} to ${max}`,
      min: (min: string) => `at least ${min}`,
      max: (max: string) => `at most ${max}`,
    },
    pattern: 'pattern',
    example: (example: string) => `such as ${example}`,
    formOf: (example: string) => `must have the form of ${example}`,
    otherForm: 'does not have the right form',
    unique: 'unique',
    scale: (places: number) => (places === 1 ? '1 decimal place' : `${places} decimal places`),
    zone: (zone: string) => `time zone ${zone}`,
  },
}

export type EntityTexts = typeof entity

/** The dialogs before a delete or a restore. */
export const remove = {
  delete: {
    title: (name: string) => `Delete ${name}?`,
    do: 'Delete',
    against: 'This cannot be deleted, because:',
    done: (name: string, more: number) =>
      more > 0 ? `Deleted ${name} and ${more} more.` : `Deleted ${name}.`,
    alone: 'Nothing else is deleted or changed.',
    along: (count: number) =>
      count === 1 ? 'This is deleted with it' : `These ${count} are deleted with it`,
    cleared: (count: number) =>
      count === 1
        ? 'This stays, but no longer refers to it'
        : `These ${count} stay, but no longer refer to it`,
  },
  restore: {
    title: (name: string) => `Restore ${name}?`,
    do: 'Restore',
    against: 'This cannot be restored, because:',
    done: (name: string, more: number) =>
      more > 0 ? `Restored ${name} and ${more} more.` : `Restored ${name}.`,
    alone: 'Nothing else is restored.',
    along: (count: number) =>
      count === 1 ? 'This is restored with it' : `These ${count} are restored with it`,
    cleared: (count: number) =>
      count === 1 ? 'This refers to it again' : `These ${count} refer to it again`,
  },
  canUndo: 'This can be undone at any time.',
  withTargets: 'Also restore what it refers to',
  changed: 'Somebody has changed something since. This is what would happen now:',
  nothing: 'There is nothing left to do.',
  more: (count: number) => `and ${count} more`,
}

export type RemoveTexts = typeof remove

/** The history of an Entity, and its past. */
export const history = {
  title: 'History',
  kinds: {
    create: 'Created',
    update: 'Changed',
    delete: 'Deleted',
    restore: 'Restored',
    purge: 'Purged',
    migrate: 'Migrated',
  },
  operation: 'Open the operation',
  run: 'Run',
  values: (count: number) => (count === 1 ? '1 value' : `${count} values`),
  version: (version: number) => `Version ${version}`,
  show: 'As it was then',
  revert: 'Revert to this version…',
  revertTitle: 'Revert to this version?',
  revertIntro: 'These values go back to what they were:',
  revertDo: 'Revert',
  revertNothing: 'Nothing would change: it already has these values.',
  reverted: 'Reverted.',
  past: 'This is the past: nothing can be changed here.',
  now: 'Back to now',
  notThen: 'It did not exist then',
  deleted: 'In the trash. Deleted by',
}

export type HistoryTexts = typeof history
