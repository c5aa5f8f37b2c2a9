/** The drafts of forms are kept in the tab, under this name, the person's and the form's. */
export const DRAFT = 'takeback draft '

/** Of whoever was signed in: the next one must not see them. */
export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFT)) sessionStorage.removeItem(name)
}
