import { useEffect, useId, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { useLocation } from 'wouter'
import { labelOf, nameOf } from '../model.ts'
import { useTexts } from '../texts/index.ts'
import { Icon, type IconName } from './icon.tsx'
import { Keys } from './keys.tsx'
import { useHits } from './palette-search.ts'

/** A command that can be run by its name from anywhere. */
export interface Command {
  readonly id: string
  readonly title: string
  /** The group: "Go to", "Bookings". */
  readonly group: string
  readonly icon?: IconName
  readonly keys?: string
  run(): void
}

const sources = new Map<symbol, readonly Command[]>()
const listeners = new Set<() => void>()
let all: readonly Command[] = []

function renew(): void {
  all = [...sources.values()].reverse().flat()
  for (const listener of listeners) listener()
}

/** Adds commands while a component is mounted. Those of the page come before those of the console. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    const source = Symbol()
    sources.set(source, commands)
    renew()
    return () => {
      sources.delete(source)
      renew()
    }
  }, [commands])
}

function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => all,
  )
}

/** Whether each word of the text begins a word of the title or group, in any order. */
function fits({ title, group }: Command, text: string): boolean {
  const words = `${group} ${title}`.toLowerCase().split(/[\s/]+/)
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => words.some((word) => word.startsWith(part)))
}

const MOST = 50

/** Returns the matching commands, followed by Entities. With `isWhole`, no more will come. */
function useFound(text: string): { readonly found: readonly Command[]; readonly isWhole: boolean } {
  const commands = useAllCommands()
  const hits = useHits(text)
  const [, navigate] = useLocation()
  return useMemo(() => {
    const fitting = text.trim() === '' ? commands : commands.filter((one) => fits(one, text.trim()))
    const entities = (hits ?? []).map(
      ({ type, data }): Command => ({
        id: `entity ${type.name}/${data.id}`,
        title: nameOf(type, data),
        group: labelOf(type),
        icon: type.login === null ? 'table' : 'people',
        run: () => navigate(`/${type.name}/${data.id}`),
      }),
    )
    return { found: [...fitting.slice(0, MOST), ...entities], isWhole: hits !== undefined }
  }, [commands, hits, text, navigate])
}

/** ⌘K: go anywhere and do anything. */
export function Palette({ onClose }: { onClose(): void }) {
  const texts = useTexts()
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useId()
  const { found, isWhole } = useFound(text)
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal()
  }, [])
  useEffect(() => {
    document.getElementById(`${list}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at, list])
  const run = (command: Command | undefined) => {
    if (command === undefined) return
    onClose()
    command.run()
  }
  const press = (key: string) => {
    if (key === 'ArrowDown') setAt((was) => Math.max(0, Math.min(was + 1, found.length - 1)))
    else if (key === 'ArrowUp') setAt((was) => Math.max(was - 1, 0))
    else if (key === 'Enter') run(found[at])
    else return false
    return true
  }
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={texts.palette.title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
      onKeyDown={(event) => press(event.key) && event.preventDefault()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${at}` : undefined}
        aria-label={texts.palette.title}
        placeholder={texts.palette.placeholder}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
      />
      <div role="listbox" id={list} aria-label={texts.palette.title}>
        {found.map((command, index) => (
          <div
            key={command.id}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onPointerMove={() => setAt(index)}
            onClick={() => run(command)}
            onKeyDown={() => {}}
          >
            {command.icon !== undefined && <Icon name={command.icon} />}
            <span className="group">{command.group}</span>
            <span className="title">{command.title}</span>
            {command.keys !== undefined && <Keys keys={command.keys} />}
          </div>
        ))}
      </div>
      {found.length === 0 && isWhole && <p className="nothing">{texts.palette.nothing}</p>}
    </dialog>
  )
}
