import type { EntityTexts, HistoryTexts, RemoveTexts } from './en-entity.ts'

export const entity: EntityTexts = {
  new: (type: string) => `Neu in ${type}`,
  create: 'Anlegen',
  created: (name: string) => `${name} angelegt.`,
  saved: (name: string) => `${name} gespeichert.`,
  discard: (fields: number) => (fields === 1 ? 'Änderung verwerfen' : `${fields} Änderungen verwerfen`),
  invalid: 'Einige Werte stimmen noch nicht.',
  edit: 'Bearbeiten',
  duplicate: 'Duplizieren',
  referrers: 'Darauf verweisen',
  meta: { id: 'Id', version: 'Version', created: 'Angelegt', updated: 'Geändert' },
  conflict: {
    title: 'Jemand anderes war schneller',
    intro: 'Diese Felder haben andere geändert, während Sie tippten. Wählen Sie für jedes, was bleibt.',
    yours: 'Ihres',
    theirs: 'Das andere:',
    save: 'Speichern',
    later: 'Zurück zum Formular',
    updated: 'Gerade geändert:',
    changed: 'Auch von anderen geändert:',
    takeTheirs: 'Das andere nehmen',
    keepYours: 'Ihres behalten',
  },
  required: 'Pflichtfeld',
  changed: 'Geändert, noch nicht gespeichert',
  notSet: 'Nicht gesetzt',
  yes: 'Ja',
  no: 'Nein',
  newSecret: 'Neu setzen',
  byDefault: (value: string) => `Voreinstellung: ${value}`,
  provided: {
    me: 'Sie selbst, wenn leer',
    now: 'Jetzt, wenn leer',
    server: 'Setzt der Server, wenn leer',
  },
  addObject: (field: string) => `${field} hinzufügen`,
  removeObject: (field: string) => `${field} entfernen`,
  addItem: (field: string) => `Zu ${field} hinzufügen`,
  removeItem: (item: string) => `${item} entfernen`,
  item: (field: string, position: number) => `${field} ${position}`,
  move: (position: number, count: number) =>
    `Eintrag ${position} von ${count} verschieben: Pfeiltasten oder ziehen`,
  notFound: 'Hier ist nichts',
  notFoundWhy: 'Es gab es nie, es wurde endgültig gelöscht, oder Sie dürfen es nicht sehen.',
  ref: {
    search: 'Suchen …',
    add: 'Suchen und hinzufügen …',
    nothing: 'Nichts gefunden',
    create: (text: string) => (text === '' ? 'Neu anlegen …' : `„${text}“ anlegen …`),
    chosen: (field: string, name: string) => `${field}: ${name}. Ändern`,
    open: (name: string) => `${name} öffnen`,
    clear: (field: string) => `${field} leeren`,
    hidden: 'Sie dürfen nicht sehen, worauf sich das bezieht.',
    moveHint: 'Alt und Pfeiltasten verschieben es',
  },
  json: {
    format: 'Formatieren',
    mistake: (line: number, column: number) => `Noch kein JSON: Zeile ${line}, Spalte ${column}`,
    wrong: (line: number, column: number, says: string) =>
      `ist in Zeile ${line}, Spalte ${column} kein JSON: ${says}`,
    nullInside:
      'hat ein null in einem Objekt. Eine Änderung kann das nicht speichern: lassen Sie den Schlüssel weg',
  },
  kept: {
    found: 'Sie haben hier etwas eingegeben, das noch nicht gespeichert ist:',
    noSecrets: 'Passwörter und Geheimnisse werden nicht aufbewahrt: Geben Sie sie neu ein.',
    restore: 'Damit weitermachen',
    discard: 'Verwerfen',
  },
  leave: {
    title: 'Ohne Speichern verlassen?',
    kept: 'Ihre Änderungen bleiben in diesem Tab. Kommen Sie zurück, um weiterzumachen.',
    stay: 'Bleiben',
    leave: 'Verlassen',
  },
  limits: {
    characters: {
      between: (min: string, max: string) => `${min} bis ${max} Zeichen`,
      min: (min: string) => `mindestens ${min} Zeichen`,
      max: (max: string) => `höchstens ${max} Zeichen`,
    },
    items: {
      between: (min: string, max: string) => `${min} bis ${max} Einträge`,
      min: (min: string) => `mindestens ${min} ${min === '1' ? 'Eintrag' : 'Einträge'}`,
      max: (max: string) => `höchstens ${max} ${max === '1' ? 'Eintrag' : 'Einträge'}`,
    },
    values: {
      between: (min: string, max: string) => `${min} bis ${max}`,
      min: (min: string) => `mindestens ${min}`,
      max: (max: string) => `höchstens ${max}`,
    },
    pattern: 'Muster',
    example: (example: string) => `zum Beispiel ${example}`,
    formOf: (example: string) => `muss die Form von ${example} haben`,
    otherForm: 'hat nicht die richtige Form',
    unique: 'eindeutig',
    scale: (places: number) => (places === 1 ? '1 Nachkommastelle' : `${places} Nachkommastellen`),
    zone: (zone: string) => `Zeitzone ${zone}`,
  },
}

export const remove: RemoveTexts = {
  delete: {
    title: (name: string) => `${name} löschen?`,
    do: 'Löschen',
    against: 'Das lässt sich nicht löschen, denn:',
    done: (name: string, more: number) =>
      more > 0 ? `${name} und ${more} weitere gelöscht.` : `${name} gelöscht.`,
    alone: 'Sonst wird nichts gelöscht oder geändert.',
    along: (count: number) => (count === 1 ? 'Das wird mitgelöscht' : `Diese ${count} werden mitgelöscht`),
    cleared: (count: number) =>
      count === 1
        ? 'Das bleibt, verweist aber nicht mehr darauf'
        : `Diese ${count} bleiben, verweisen aber nicht mehr darauf`,
  },
  restore: {
    title: (name: string) => `${name} wiederherstellen?`,
    do: 'Wiederherstellen',
    against: 'Das lässt sich nicht wiederherstellen, denn:',
    done: (name: string, more: number) =>
      more > 0 ? `${name} und ${more} weitere wiederhergestellt.` : `${name} wiederhergestellt.`,
    alone: 'Sonst wird nichts wiederhergestellt.',
    along: (count: number) =>
      count === 1 ? 'Das wird mit wiederhergestellt' : `Diese ${count} werden mit wiederhergestellt`,
    cleared: (count: number) =>
      count === 1 ? 'Das verweist wieder darauf' : `Diese ${count} verweisen wieder darauf`,
  },
  canUndo: 'Das lässt sich jederzeit zurücknehmen.',
  withTargets: 'Auch wiederherstellen, worauf es verweist',
  changed: 'Jemand hat inzwischen etwas geändert. Das würde jetzt geschehen:',
  nothing: 'Es ist nichts mehr zu tun.',
  more: (count: number) => `und ${count} weitere`,
}

export const history: HistoryTexts = {
  title: 'Verlauf',
  kinds: {
    create: 'Angelegt',
    update: 'Geändert',
    delete: 'Gelöscht',
    restore: 'Wiederhergestellt',
    purge: 'Endgültig gelöscht',
    migrate: 'Migriert',
  },
  operation: 'Den Vorgang öffnen',
  run: 'Lauf',
  values: (count: number) => (count === 1 ? '1 Wert' : `${count} Werte`),
  version: (version: number) => `Version ${version}`,
  show: 'Wie es damals war',
  revert: 'Auf diese Version zurücksetzen …',
  revertTitle: 'Auf diese Version zurücksetzen?',
  revertIntro: 'Diese Werte werden zurückgesetzt:',
  revertDo: 'Zurücksetzen',
  revertNothing: 'Es würde sich nichts ändern: Diese Werte gelten schon.',
  reverted: 'Zurückgesetzt.',
  past: 'Das ist die Vergangenheit: Hier lässt sich nichts ändern.',
  now: 'Zurück zu jetzt',
  notThen: 'Das gab es damals nicht',
  deleted: 'Im Papierkorb. Gelöscht von',
}
