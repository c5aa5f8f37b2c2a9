import { createContext } from 'react'

/** The place beside the title for the actions of an Entity. The component that shows the Entity fills it. */
export const ActionSlot = createContext<HTMLElement | null>(null)
