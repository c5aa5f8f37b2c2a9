/**
 * The one spelling under which an e-mail address is looked up, kept unique and counted by the throttle,
 * so that no other spelling of it gets round any of them.
 */
export function emailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase().normalize('NFKC')
}
