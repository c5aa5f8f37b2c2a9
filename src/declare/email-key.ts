/**
 * The normal form of an e-mail address. Lookups, uniqueness and the login throttle use it, so that another spelling of
 * an address gets around none of them.
 */
export function emailKey(email: string): string {
  return emailSpelling(email).toLowerCase().normalize('NFKC')
}

/**
 * The spelling in which an account has its address. Accounts with one key then differ in case at most: otherwise a sign-up
 * with a look-alike would take the key of an address, while all mails for its owner go elsewhere.
 */
export function emailSpelling(email: string): string {
  return email.normalize('NFKC')
}
