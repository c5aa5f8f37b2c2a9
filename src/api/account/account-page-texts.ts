import type { LinkKind } from '../../declare/mail.ts'

/** The texts of the pages that mails link to. */
export interface PageTexts {
  readonly language: 'en' | 'de'
  readonly titles: Readonly<Record<LinkKind, string>>
  readonly buttons: Readonly<Record<LinkKind, string>>
  readonly failed: string
  readonly newPassword: string
  readonly atLeast: (min: number) => string
  readonly thePassword: string
  readonly passwordSet: string
  readonly signIn: string
  /** Translates a sentence about a value. */
  readonly sentence: (english: string) => string
  /** Translates a message of the API, by its code or by its English text. */
  readonly whole: (code: string, english: string) => string
}

const en: PageTexts = {
  language: 'en',
  titles: {
    reset: 'Set a new password',
    invite: 'Set your password',
    verify: 'Confirm your e-mail address',
    email: 'Your new e-mail address',
    revert: 'Take back your e-mail address',
  },
  buttons: {
    reset: 'Set the password',
    invite: 'Set the password',
    verify: 'Confirm the address',
    email: 'Use this address',
    revert: 'Take it back, and end all sessions',
  },
  failed: 'This did not work',
  newPassword: 'New password',
  atLeast: (min) => `At least ${min} characters.`,
  thePassword: 'The password',
  passwordSet: 'The password was changed. You can log in with it now.',
  signIn: 'Sign in',
  sentence: (english) => english,
  whole: (_code, english) => english,
}

const SENTENCES: readonly [RegExp, string][] = [
  [/^must have at least (\d+) characters?$/, 'braucht mindestens $1 Zeichen'],
  [/^must have at most (\d+) characters?$/, 'darf höchstens $1 Zeichen haben'],
  [/^is one of the most common passwords; choose another$/, 'ist leicht zu erraten: Wählen Sie ein anderes'],
  [
    /^is too much like the e-mail, or a name of this application; choose another$/,
    'ist der E-Mail oder dem Namen dieser Anwendung zu ähnlich: Wählen Sie ein anderes',
  ],
]

const WHOLE: Readonly<Record<string, string>> = {
  invalid_link: 'Der Link ist falsch, abgelaufen oder wurde schon benutzt. Fordern Sie einen neuen an.',
  login_expired:
    'Die Anmeldung ist abgelaufen oder wurde in einem anderen Browser begonnen. Beginnen Sie noch einmal.',
  too_many_attempts: 'Zu viele Versuche. Warten Sie eine Weile.',
}

/** Messages of the API after a success. */
const DONE: Readonly<Record<string, string>> = {
  'The e-mail address is confirmed. You can log in now.':
    'Die E-Mail-Adresse ist bestätigt. Sie können sich jetzt anmelden.',
  'The e-mail address was changed. Log in with it from now on.':
    'Die E-Mail-Adresse ist geändert. Melden Sie sich ab jetzt damit an.',
  'Your account has its old e-mail address again, and all sessions have ended. A mail with a link to set a new password is on its way.':
    'Ihr Konto hat wieder seine alte E-Mail-Adresse, und alle Sitzungen sind beendet. Eine Mail mit einem Link für ein neues Passwort ist unterwegs.',
}

const de: PageTexts = {
  language: 'de',
  titles: {
    reset: 'Neues Passwort setzen',
    invite: 'Ihr Passwort setzen',
    verify: 'E-Mail-Adresse bestätigen',
    email: 'Ihre neue E-Mail-Adresse',
    revert: 'Ihre E-Mail-Adresse zurückholen',
  },
  buttons: {
    reset: 'Passwort setzen',
    invite: 'Passwort setzen',
    verify: 'Adresse bestätigen',
    email: 'Diese Adresse verwenden',
    revert: 'Zurückholen und alle Sitzungen beenden',
  },
  failed: 'Das hat nicht geklappt',
  newPassword: 'Neues Passwort',
  atLeast: (min) => `Mindestens ${min} Zeichen.`,
  thePassword: 'Das Passwort',
  passwordSet: 'Das Passwort ist gesetzt. Sie können sich jetzt damit anmelden.',
  signIn: 'Anmelden',
  sentence: (english) => {
    const [pattern, german] = SENTENCES.find(([one]) => one.test(english)) ?? []
    return pattern === undefined || german === undefined ? english : english.replace(pattern, german)
  },
  whole: (code, english) => WHOLE[code] ?? DONE[english] ?? english,
}

/** Returns German texts if that is the first language of the browser, else English ones. */
export function pageTexts(languages: string | null): PageTexts {
  return /^\s*de\b/i.test(languages ?? '') ? de : en
}
