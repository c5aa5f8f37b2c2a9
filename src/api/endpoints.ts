import { actAsUser } from './acting.ts'
import { writeBatch } from './batch.ts'
import { patchEntities } from './change-many.ts'
import { followChanges } from './changes.ts'
import { createEntity } from './create-many.ts'
import { readDocument } from './document.ts'
import { askForEmail, confirmEmailByLink, revertEmailByLink } from './email-change.ts'
import { endMyKey } from './end-key.ts'
import type { Endpoints } from './endpoint.ts'
import { readHealth, readHealthDetails } from './health-details.ts'
import { readHistory } from './history.ts'
import { linkIdentity, linkProvider, listIdentities, unlinkIdentity } from './identities.ts'
import { changeMyKey, listMyKeys, makeMyKey, readMyKey } from './keys.ts'
import { listEntities } from './list.ts'
import { logIn, logInByUsername } from './login.ts'
import { askMay } from './may.ts'
import { listOperations, readOperation } from './operations.ts'
import {
  dropPasskey,
  makeLoginOptions,
  makePasskeyOptions,
  passkeyLogin,
  readPasskeys,
  registerPasskey,
} from './passkey-endpoints.ts'
import { finishProviderLogin } from './provider-callback.ts'
import { exchangeCode } from './provider-exchange.ts'
import { listProviders, startProviderLogin } from './provider-start.ts'
import { readEntity } from './read.ts'
import { removeEntity } from './remove.ts'
import { removeEntities } from './remove-many.ts'
import { askForReset, resetByLink } from './reset.ts'
import { revertEntity } from './revert.ts'
import { changeMyPassword, logOut, readMe, refreshToken } from './session.ts'
import { endOtherSessions, endSession, listSessions } from './sessions.ts'
import { redoLast, undoLast } from './stack.ts'
import { summariseEntities } from './summary.ts'
import { makeTicket } from './ticket.ts'
import { confirmSetUp, dropFactor, makeRecoveryCodes, readFactor, setUpFactor } from './totp-endpoints.ts'
import { undoOperation, undoOperations } from './undo.ts'
import { patchEntity, replaceEntity } from './update.ts'
import { upsertEntity } from './upsert.ts'
import { sendVerification, verifyByLink } from './verify.ts'

/** The whole API, in the order in which it is shown. */
export const endpoints: Endpoints = {
  server: [
    logIn, // POST /api/auth/login
    logInByUsername, // POST /api/login
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
    listProviders, // GET /api/auth/providers/
    startProviderLogin, // GET /api/auth/providers/{name}/start
    finishProviderLogin, // GET /api/auth/providers/{name}/callback
    exchangeCode, // POST /api/auth/providers/exchange
    linkProvider, // POST /api/auth/providers/{name}/link
    listIdentities, // GET /api/auth/identities/
    linkIdentity, // POST /api/auth/identities/
    unlinkIdentity, // DELETE /api/auth/identities/{id}/
    actAsUser, // POST /api/auth/as/
    askMay, // POST /api/may/
    makeTicket, // POST /api/auth/ticket/
    makeMyKey, // POST /api/auth/keys/
    listMyKeys, // GET /api/auth/keys/
    readMyKey, // GET /api/auth/keys/{id}/
    changeMyKey, // PATCH /api/auth/keys/{id}/
    endMyKey, // DELETE /api/auth/keys/{id}/
    followChanges, // GET /api/changes/
    listOperations, // GET /api/operations/
    readOperation, // GET /api/operations/{id}/
    undoOperation, // POST /api/operations/{id}/undo/
    undoOperations, // POST /api/operations/undo/
    writeBatch, // POST /api/batch/
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
