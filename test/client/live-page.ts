import { connect, type Login } from '../../client/client.ts'
import type { Hotel } from './app.ts'

/** Follows a dozen lists, creates a room, and waits until all of the lists have it. Returns how many lists there are. */
async function followMany(url: string, login: Login): Promise<number> {
  const api = connect<Hotel>(url)
  await api.login(login)
  const floors = Array.from({ length: 12 }, (_, floor) => floor)
  const opened: Promise<void>[] = []
  const shown = floors.map(
    (floor) =>
      new Promise<void>((show, fail) => {
        opened.push(
          new Promise((open) => {
            api.rooms.live(
              { filter: `beds > ${floor}` },
              (all) => {
                open()
                if (all.some(({ title }) => title === 'for all lists')) show()
              },
              { onError: fail },
            )
          }),
        )
      }),
  )
  await Promise.all(opened)
  await api.rooms.create({ title: 'for all lists', beds: 99 })
  await Promise.all(shown)
  return shown.length
}

Object.assign(globalThis, { followMany })
