import { createContext } from 'react'

/** The place beside the title for what can be done: whoever shows the Entity fills it. */
export const ActionSlot = createContext<HTMLElement | null>(null)
