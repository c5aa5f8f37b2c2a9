import { useId } from 'react'
import { send } from '../../api.ts'
import { type EntityType, labelOf } from '../../model.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormField } from '../../parts/form-field.tsx'
import { EmailField } from '../../parts/login-fields.tsx'
import { useSubmit } from '../../parts/use-submit.ts'
import { useTexts } from '../../texts/index.ts'
import { useWrite } from '../../writes.ts'

/** Creates a user without a password, who is mailed a link to set one. */
export function Invite({ type, onClose }: { readonly type: EntityType; onClose(): void }) {
  const texts = useTexts()
  const id = useId()
  const write = useWrite()
  const wanted = type.fields.filter(
    ({ required, type: kind, name }) => required && kind !== 'password' && name !== 'email',
  )
  const isSimple = wanted.every(({ type: kind }) => ['text', 'email', 'url', 'choice'].includes(kind))
  const { submit, isBusy, failure, wrong } = useSubmit(async (values) => {
    await write(texts.people.invited(values.email ?? ''), () =>
      send('POST', `${type.name}/`, { query: { invite: true }, body: values }),
    )
    onClose()
  })
  return (
    <Dialog
      title={texts.people.inviteTo(labelOf(type))}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          {isSimple && (
            <Button type="submit" form={id} tone="main" disabled={isBusy}>
              {texts.people.inviteDo}
            </Button>
          )}
        </>
      }
    >
      {isSimple ? (
        <form id={id} className="stack" onSubmit={submit}>
          <p className="muted">{texts.people.inviteHelp}</p>
          <EmailField form={{ wrong }} autoFocus autoComplete="off" />
          {wanted.map((field) => (
            <FormField
              key={field.path}
              label={labelOf(field)}
              name={field.path}
              type="text"
              required
              wrong={wrong(field.path)}
            />
          ))}
          {failure !== undefined && <p role="alert">{failure}</p>}
        </form>
      ) : (
        <p>{texts.people.tooMany(labelOf(type))}</p>
      )}
    </Dialog>
  )
}
