import { useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { ApiError, auth } from '../../api.ts'
import { labelOf, useModel } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { PresentPassword, proofOf } from '../../parts/login-fields.tsx'
import { showOnce } from '../../parts/shown-once.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useTexts } from '../../texts/index.ts'
import { ACTIONS, LIMITS } from './key.ts'

interface NewKeyProps {
  /** The user in whose name the key acts: `users/5`. Undefined means oneself. */
  readonly user: string | undefined
  onClose(): void
}

/** Creates a key, and shows it once. */
export function NewKey({ user, onClose }: NewKeyProps) {
  const texts = useTexts()
  const queries = useQueryClient()
  const id = useId()
  const [asksPassword, setAsksPassword] = useState(false)
  const form = useSubmit(async (values) => {
    const terms = { ...termsOf(values), ...proofOf(values), ...(user && { user }) }
    const { key } = await auth.keys.create(terms).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'recent_login_required') setAsksPassword(true)
      throw error
    })
    void showOnce({
      title: texts.keys.made,
      help: texts.keys.madeHelp,
      text: key,
      copy: texts.keys.copy,
      kept: texts.keys.madeDone,
      more: <TryKey value={key} />,
    })
    onClose()
    await queries.invalidateQueries({ queryKey: ['auth', 'keys'] })
  })
  return (
    <Dialog
      title={texts.keys.make}
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" form={id} tone="main" disabled={form.isBusy}>
            {texts.keys.makeDo}
          </Button>
        </>
      }
    >
      <form id={id} className="stack" onSubmit={form.submit}>
        <FormField
          label={texts.keys.name}
          name="name"
          type="text"
          required
          maxLength={100}
          hint={texts.keys.nameHint}
          wrong={form.wrong('name')}
        />
        <label className="check">
          <input type="checkbox" name="agent" />
          <span>
            {texts.keys.agentLabel} <span className="hint">{texts.keys.agentHelp}</span>
          </span>
        </label>
        <FormField
          label={texts.keys.expires}
          name="expires_at"
          type="datetime-local"
          hint={texts.keys.expiresHint}
          wrong={form.wrong('expires_at')}
        />
        <Rights />
        <Limits wrong={form.wrong} />
        {asksPassword && <PresentPassword form={form} />}
        {form.failure !== undefined && <p role="alert">{form.failure}</p>}
      </form>
    </Dialog>
  )
}

const RIGHTS = ['all', 'read', 'some'] as const

function Rights() {
  const texts = useTexts().keys
  const [rights, setRights] = useState<(typeof RIGHTS)[number]>('all')
  return (
    <fieldset>
      <legend>{texts.rights}</legend>
      {RIGHTS.map((one) => (
        <label key={one} className="check">
          <input
            type="radio"
            name="rights"
            value={one}
            checked={rights === one}
            onChange={() => setRights(one)}
          />
          {texts.rightsOf[one]}
        </label>
      ))}
      {rights === 'some' && <ChosenRights />}
    </fieldset>
  )
}

function ChosenRights() {
  const texts = useTexts().keys
  const { entities } = useModel()
  return (
    <div className="scroll-x">
      <table className="plain">
        <thead>
          <tr>
            <td />
            {ACTIONS.map((action) => (
              <th key={action}>{texts.actions[action]}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entities.map((type) => (
            <tr key={type.name}>
              <th scope="row">{labelOf(type)}</th>
              {ACTIONS.map((action) => (
                <td key={action}>
                  <input
                    type="checkbox"
                    name={`can ${type.name} ${action}`}
                    aria-label={`${labelOf(type)}: ${texts.actions[action]}`}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Limits({ wrong }: { wrong(path: string): readonly string[] | undefined }) {
  const texts = useTexts().keys
  return (
    <fieldset>
      <legend>{texts.limits}</legend>
      <div className="columns">
        {LIMITS.map((name) => (
          <FormField
            key={name}
            label={texts.limitLabel[name]}
            name={`limits.${name}`}
            type="number"
            min={1}
            placeholder={texts.noLimit}
            wrong={wrong(`limits.${name}`)}
          />
        ))}
      </div>
    </fieldset>
  )
}

/** Converts the form to the body of the API call. */
function termsOf(values: Record<string, string>) {
  const entities: Record<string, string[]> = {}
  for (const name of Object.keys(values)) {
    const [kind, type = '', action = ''] = name.split(' ')
    if (kind === 'can') entities[type] = [...(entities[type] ?? []), action]
  }
  const limits = LIMITS.flatMap((name) => {
    const value = values[`limits.${name}`]
    return value ? [[name, Number(value)] as const] : []
  })
  const can = {
    ...(values.rights === 'read' && { read_only: true }),
    // Even if it is empty: no rights must not become all rights.
    ...(values.rights === 'some' && { entities }),
  }
  return {
    name: values.name ?? '',
    ...(values.agent && { agent: true }),
    ...(values.expires_at && { expires_at: new Date(values.expires_at).toISOString() }),
    ...(Object.keys(can).length > 0 && { can }),
    ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
  }
}

function TryKey({ value }: { readonly value: string }) {
  const texts = useTexts().keys
  return (
    <>
      <p>{texts.tryIt}</p>
      <pre>{`KEY=${value}\ncurl ${location.origin}/api/auth/me \\\n  -H "Authorization: Bearer $KEY"`}</pre>
    </>
  )
}
