/**
 * The normal form of an e-mail address. Lookups, uniqueness and the login throttle use it, so that another spelling of
 * an address gets around none of them.
 */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase().normalize('NFKC')
}
