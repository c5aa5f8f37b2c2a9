import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { get, type Page, send } from '../../api.ts'
import { explain } from '../../explain.ts'
import { Button } from '../../parts/button.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Empty, QueryState } from '../../parts/states.tsx'
import { showToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { useTexts } from '../../texts/index.ts'

interface Task {
  readonly id: number
  readonly queue: string
  readonly kind: string
  readonly name: string
  readonly state: 'waiting' | 'running' | 'aside'
  readonly attempts: number
  readonly error: string | null
  readonly at: string
  readonly next_at: string | null
  readonly entity: string | null
  readonly operation: string | null
}

interface Job {
  readonly name: string
  readonly every: string
  readonly zone: string | null
  readonly status: 'never' | 'ok' | 'failed'
  readonly last: string | null
  readonly next: string | null
  readonly error: string | null
}

interface Webhook {
  readonly name: string
  readonly to: string
  readonly waiting: number
  readonly aside: number
  readonly deliveries: readonly {
    readonly at: string
    readonly operation: string
    readonly status: number | null
    readonly error: string | null
  }[]
}

const EVERY_MS = 5000

/** Reactions, webhooks, mails and jobs: what is waiting or has failed, with a retry. */
export function Work() {
  return (
    <div className="stack">
      <Tasks />
      <Jobs />
      <Webhooks />
    </div>
  )
}

/** Returns a function that starts work by a call, and refreshes the page. */
function useSetOff(): (path: string, body?: object) => Promise<void> {
  const texts = useTexts()
  const queries = useQueryClient()
  return async (path, body) => {
    try {
      await send('POST', path, { ...(body && { body }) })
      showToast({ text: texts.system.setOff })
    } catch (error) {
      showToast({ text: explain(error, texts), tone: 'bad' })
    }
    await queries.invalidateQueries({ queryKey: ['system'] })
  }
}

function useSystem<T>(name: string) {
  return useQuery({
    queryKey: ['system', name],
    queryFn: ({ signal }) => get<T>(`system/${name}/`, {}, signal),
    refetchInterval: EVERY_MS,
  })
}

const TONES = { waiting: 'badge warn', running: 'badge accent', aside: 'badge bad' }

interface WorkTableProps {
  readonly title: string
  /** The head of the first column. */
  readonly what: string
  /** The head of the third column. */
  readonly third: string
  /** The label of each row's button. */
  readonly action: string
  readonly children: ReactNode
}

/** A table of work: status, next run, and a button in each row. */
function WorkTable({ title, what, third, action, children }: WorkTableProps) {
  const texts = useTexts().system
  return (
    <section>
      <h2>{title}</h2>
      <div className="scroll-x">
        <table className="plain stacked">
          <thead>
            <tr>
              <th>{what}</th>
              <th>{texts.status}</th>
              <th>{third}</th>
              <th>{texts.next}</th>
              <th>
                <span className="visually-hidden">{action}</span>
              </th>
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </section>
  )
}

function Tasks() {
  const texts = useTexts().system
  const setOff = useSetOff()
  const query = useSystem<Page<Task>>('tasks')
  const { data } = query
  if (data === undefined || query.error !== null) return <QueryState query={query} />
  if (data.data.length === 0)
    return (
      <Empty icon="check" title={texts.noTasks}>
        {texts.noTasksHelp}
      </Empty>
    )
  return (
    <WorkTable title={texts.tasks} what={texts.task} third={texts.tries} action={texts.retry}>
      {data.data.map((task) => (
        <tr key={task.id}>
          <td>
            {task.name} {task.entity !== null && <Sentence text={task.entity} />}{' '}
            {task.operation !== null && <Link href={`/operations/${task.operation}`}>{texts.operation}</Link>}
          </td>
          <td>
            <span className={TONES[task.state]}>{texts.states[task.state]}</span> {task.error}
          </td>
          <td className="number" data-label={texts.tries}>
            {task.attempts}
          </td>
          <td data-label={texts.next}>{task.next_at !== null && <When at={task.next_at} />}</td>
          <td className="number">
            {task.state !== 'running' && (
              <Button onClick={() => void setOff(`system/tasks/${task.id}/retry/`)}>{texts.retry}</Button>
            )}
          </td>
        </tr>
      ))}
    </WorkTable>
  )
}

function Jobs() {
  const texts = useTexts().system
  const setOff = useSetOff()
  const { data } = useSystem<Page<Job>>('jobs')
  if (data === undefined || data.data.length === 0) return null
  return (
    <WorkTable title={texts.jobs} what={texts.job} third={texts.last} action={texts.runNow}>
      {data.data.map((job) => (
        <tr key={job.name}>
          <td>
            {job.name} <code className="muted">{[job.every, job.zone].filter(Boolean).join(' ')}</code>
          </td>
          <td>
            <span className={job.status === 'failed' ? 'badge bad' : 'badge'}>
              {texts.jobStates[job.status]}
            </span>{' '}
            {job.error}
          </td>
          <td data-label={texts.last}>{job.last !== null && <When at={job.last} />}</td>
          <td data-label={texts.next}>{job.next !== null && <When at={job.next} />}</td>
          <td className="number">
            <Button
              icon="play"
              onClick={() => void setOff(`system/jobs/${encodeURIComponent(job.name)}/run/`)}
            >
              {texts.runNow}
            </Button>
          </td>
        </tr>
      ))}
    </WorkTable>
  )
}

function Webhooks() {
  const texts = useTexts().system
  const { data } = useSystem<Page<Webhook>>('webhooks')
  const [open, setOpen] = useState<string>()
  if (data === undefined || data.data.length === 0) return null
  return (
    <section>
      <h2>{texts.webhooks}</h2>
      {data.data.map((hook) => (
        <details
          key={hook.name}
          className="card hook"
          open={open === hook.name}
          onToggle={(event) => event.currentTarget.open && setOpen(hook.name)}
        >
          <summary>
            {hook.name} <code className="muted">{hook.to}</code>{' '}
            {hook.waiting > 0 && <span className="badge warn">{texts.waiting(hook.waiting)}</span>}{' '}
            {hook.aside > 0 && <span className="badge bad">{texts.aside(hook.aside)}</span>}
          </summary>
          <Deliveries hook={hook} />
        </details>
      ))}
    </section>
  )
}

function Deliveries({ hook }: { readonly hook: Webhook }) {
  const texts = useTexts().system
  const setOff = useSetOff()
  const resend = `system/webhooks/${encodeURIComponent(hook.name)}/resend/`
  if (hook.deliveries.length === 0) return <p className="muted">{texts.noDeliveries}</p>
  return (
    <ul className="rows">
      {hook.deliveries.map((one) => (
        <li key={`${one.at} ${one.operation}`}>
          <span>
            <span className={one.status !== null && one.status < 300 ? 'badge good' : 'badge bad'}>
              {one.status ?? texts.noAnswer}
            </span>{' '}
            <When at={one.at} /> <Link href={`/operations/${one.operation}`}>{texts.operation}</Link>{' '}
            {one.error}
          </span>
          <Button onClick={() => void setOff(resend, { operation: one.operation })}>{texts.resend}</Button>
        </li>
      ))}
    </ul>
  )
}
