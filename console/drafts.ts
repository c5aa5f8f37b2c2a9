/** The prefix of the keys under which drafts of forms are stored in the tab. The user and the form follow. */
export const DRAFT = 'takeback draft '

/** Removes the drafts: the next person who signs in must not see them. */
export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFT)) sessionStorage.removeItem(name)
}
