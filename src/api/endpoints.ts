import { actAsUser } from './account/acting.ts'
import { askForEmail, confirmEmailByLink, revertEmailByLink } from './account/email-change.ts'
import { endMyKey } from './account/end-key.ts'
import { postFirstAdmin } from './account/first-admin.ts'
import { linkIdentity, linkProvider, listIdentities, unlinkIdentity } from './account/identities.ts'
import { inviteAgain, readInvitations } from './account/invitations.ts'
import { changeMyKey, listMyKeys, makeMyKey, readMyKey } from './account/keys.ts'
import { logIn, logInByUsername } from './account/login.ts'
import {
  dropPasskey,
  makeLoginOptions,
  makePasskeyOptions,
  passkeyLogin,
  readPasskeys,
  registerPasskey,
} from './account/passkey-endpoints.ts'
import { putPreferences, readPreferences } from './account/preferences.ts'
import { finishProviderLogin } from './account/provider-callback.ts'
import { exchangeCode } from './account/provider-exchange.ts'
import { listProviders, startProviderLogin } from './account/provider-start.ts'
import { askForReset, resetByLink } from './account/reset.ts'
import { changeMyPassword, logOut, readMe, refreshToken } from './account/session.ts'
import { endOtherSessions, endSession, listSessions } from './account/sessions.ts'
import { makeTicket } from './account/ticket.ts'
import {
  confirmSetUp,
  dropFactor,
  makeRecoveryCodes,
  readFactor,
  setUpFactor,
} from './account/totp-endpoints.ts'
import { sendVerification, verifyByLink } from './account/verify.ts'
import { readDocument } from './document.ts'
import type { Endpoints } from './endpoint.ts'
import { readHealth, readHealthDetails } from './health-details.ts'
import { getModel } from './model/model.ts'
import { readHistory } from './past/history.ts'
import { listOperations, readOperation } from './past/operations.ts'
import { revertEntity } from './past/revert.ts'
import { redoLast, undoLast } from './past/stack.ts'
import { undoOperation, undoOperations } from './past/undo.ts'
import { followChanges } from './read/changes.ts'
import { followLists } from './read/follow-lists.ts'
import { listEntities } from './read/list.ts'
import { askMay } from './read/may.ts'
import { readEntity } from './read/read.ts'
import { summariseEntities } from './read/summary.ts'
import { postJobRun, readJobs } from './system/jobs.ts'
import { readMigrations } from './system/migrations.ts'
import { readRequests } from './system/requests.ts'
import { postRetry, readTasks } from './system/tasks.ts'
import { postResend, readWebhooks } from './system/webhooks.ts'
import { writeBatch } from './write/batch.ts'
import { patchEntities } from './write/change-many.ts'
import { createEntity } from './write/create-many.ts'
import { removeEntity } from './write/remove.ts'
import { removeEntities } from './write/remove-many.ts'
import { patchEntity, replaceEntity } from './write/update.ts'
import { upsertEntity } from './write/upsert.ts'

/** The whole API, in the order in which it is shown. */
export const endpoints: Endpoints = {
  server: [
    logIn, // POST /api/auth/login
    logInByUsername, // POST /api/login
    postFirstAdmin, // POST /api/auth/first-admin/
    readMe, // GET /api/auth/me
    refreshToken, // POST /api/auth/refresh
    logOut, // POST /api/auth/logout
    listSessions, // GET /api/auth/sessions/
    endSession, // DELETE /api/auth/sessions/{id}/
    endOtherSessions, // DELETE /api/auth/sessions/
    readFactor, // GET /api/auth/totp/
    setUpFactor, // POST /api/auth/totp/
    confirmSetUp, // POST /api/auth/totp/confirm
    makeRecoveryCodes, // POST /api/auth/totp/recovery-codes
    dropFactor, // DELETE /api/auth/totp/
    readPasskeys, // GET /api/auth/passkeys/
    makePasskeyOptions, // POST /api/auth/passkeys/options
    registerPasskey, // POST /api/auth/passkeys/
    dropPasskey, // DELETE /api/auth/passkeys/{id}/
    makeLoginOptions, // POST /api/auth/passkeys/login/options
    passkeyLogin, // POST /api/auth/passkeys/login
    changeMyPassword, // POST /api/auth/password
    askForReset, // POST /api/auth/password/forgot
    resetByLink, // POST /api/auth/password/reset
    askForEmail, // POST /api/auth/email
    confirmEmailByLink, // POST /api/auth/email/confirm
    revertEmailByLink, // POST /api/auth/email/revert
    verifyByLink, // POST /api/auth/verify
    sendVerification, // POST /api/auth/verify/send
    readInvitations, // GET /api/auth/invitations/
    inviteAgain, // POST /api/auth/invitations/
    listProviders, // GET /api/auth/providers/
    startProviderLogin, // GET /api/auth/providers/{name}/start
    finishProviderLogin, // GET /api/auth/providers/{name}/callback
    exchangeCode, // POST /api/auth/providers/exchange
    linkProvider, // POST /api/auth/providers/{name}/link
    listIdentities, // GET /api/auth/identities/
    linkIdentity, // POST /api/auth/identities/
    unlinkIdentity, // DELETE /api/auth/identities/{id}/
    readPreferences, // GET /api/auth/preferences/
    putPreferences, // PUT /api/auth/preferences/
    actAsUser, // POST /api/auth/as/
    askMay, // POST /api/may/
    makeTicket, // POST /api/auth/ticket/
    makeMyKey, // POST /api/auth/keys/
    listMyKeys, // GET /api/auth/keys/
    readMyKey, // GET /api/auth/keys/{id}/
    changeMyKey, // PATCH /api/auth/keys/{id}/
    endMyKey, // DELETE /api/auth/keys/{id}/
    followChanges, // GET /api/changes/
    followLists, // POST /api/changes/
    listOperations, // GET /api/operations/
    readOperation, // GET /api/operations/{id}/
    undoOperation, // POST /api/operations/{id}/undo/
    undoOperations, // POST /api/operations/undo/
    writeBatch, // POST /api/batch/
    readTasks, // GET /api/system/tasks/
    postRetry, // POST /api/system/tasks/{id}/retry/
    readJobs, // GET /api/system/jobs/
    postJobRun, // POST /api/system/jobs/{name}/run/
    readWebhooks, // GET /api/system/webhooks/
    postResend, // POST /api/system/webhooks/{name}/resend/
    readRequests, // GET /api/system/requests/
    readMigrations, // GET /api/system/migrations/
    getModel, // GET /api/model/
    readHealth, // GET /api/health
    readHealthDetails, // GET /api/health/details
    readDocument, // GET /api/openapi.json
  ],
  entity: [
    listEntities, // GET /api/{entity}/
    summariseEntities, // GET /api/{entity}/summary/
    createEntity, // POST /api/{entity}/
    upsertEntity, // PUT /api/{entity}/
    patchEntities, // PATCH /api/{entity}/
    removeEntities, // DELETE /api/{entity}/
    readEntity, // GET /api/{entity}/{id}/
    patchEntity, // PATCH /api/{entity}/{id}/
    replaceEntity, // PUT /api/{entity}/{id}/
    removeEntity, // DELETE /api/{entity}/{id}/
    readHistory, // GET /api/{entity}/{id}/history/
    revertEntity, // POST /api/{entity}/{id}/revert/
    undoLast, // POST /api/{entity}/{id}/undo/
    redoLast, // POST /api/{entity}/{id}/redo/
  ],
}
