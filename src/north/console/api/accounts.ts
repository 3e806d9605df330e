import * as z from 'zod';
import type { Gateway } from '../../../core/gateway.ts';
import type { Accounts } from '../../../core/ports/accounts.ts';
import { ApiError, notFound } from '../api-error.ts';
import { accessOf, type Person } from '../person.ts';
import { defineRoute } from './route.ts';
import { accountSchema, emptyBody, errorSchema, neededSignInSchema, signedOutAtServerSchema } from './schemas.ts';

/** The principal of shared accounts. */
const EVERYBODY = '*';

export const accountRoutes = [
  defineRoute({
    method: 'GET',
    path: '/accounts',
    summary:
      "Lists the person's accounts on servers, including shared accounts; for operators, the accounts of all people",
    replies: { 200: { description: 'All accounts', schema: z.object({ items: z.array(accountSchema) }) } },
    run: async ({ gateway, person }) => {
      const items = (await gateway.accounts?.list(person.operator ? undefined : person.principal)) ?? [];
      const mayKnow = accessOf(gateway, person);
      return { body: { items: items.filter(({ server }) => mayKnow({ server })) } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/servers/{name}/sign-in',
    summary: 'Starts a sign-in to a server for the person, or returns the pending one',
    body: emptyBody,
    replies: {
      200: { description: 'Where the person signs in', schema: neededSignInSchema },
      409: { description: 'This server has no sign-in', schema: errorSchema },
      502: { description: 'The server or its authorization server does not support the sign-in', schema: errorSchema },
    },
    run: async ({ gateway, person, named }) => ({ body: await beginSignIn(gateway, person, named) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/sign-ins/{id}',
    summary: 'Returns a pending sign-in',
    replies: { 200: { description: 'The pending sign-in', schema: neededSignInSchema } },
    run: async ({ gateway, person, named }) => {
      const found = await gateway.accounts?.findSignIn(named);
      const isOwn = found !== undefined && (person.operator || found.principal === person.principal);
      if (!isOwn || !accessOf(gateway, person)({ server: found.server }))
        throw notFound(`no pending sign-in '${named}': it was completed, or it expired`);
      return { body: { ...found, url: await gateway.signInLink(found) } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/servers/{name}/sign-out',
    summary: "Revokes and deletes the person's tokens for a server; for operators, also shared tokens",
    body: emptyBody,
    replies: {
      200: { description: 'Whether there were any', schema: signedOutAtServerSchema },
      403: { description: 'The account is shared, and the person is not an operator', schema: errorSchema },
    },
    // A server that was removed from the config may still have tokens.
    run: async ({ gateway, person, named }) => ({
      body: { server: named, signedOut: await signOut(accountsOf(gateway), person, named) },
    }),
  }),
];

async function signOut(accounts: Accounts, { principal, operator }: Person, server: string): Promise<boolean> {
  const isOut = await accounts.signOut(principal, server);
  if (operator) return (await accounts.signOut(EVERYBODY, server)) || isOut;
  if (isOut) return true;
  const isShared = (await accounts.list(principal)).some(
    (each) => each.principal === EVERYBODY && each.server === server,
  );
  if (!isShared) return false;
  throw new ApiError(403, 'not_allowed', `all users share the account on '${server}'; ask an operator to sign out`);
}

async function beginSignIn(gateway: Gateway, person: Person, server: string): Promise<unknown> {
  const { principal } = person;
  const accounts = accountsOf(gateway);
  const { config } = gateway.serversFor(person).require(server);
  if (!('url' in config) || config.auth === false) {
    const why = 'url' in config ? '"auth" is false in its config' : 'it is a command';
    throw new ApiError(409, 'no_accounts', `server '${server}' has no sign-in: ${why}`);
  }
  const { id, issuer, scopes, expiresAt } = await accounts.signIn({ principal, server, config });
  const url = await gateway.signInLink({ id, principal, server, issuer, scopes, expiresAt });
  return { id, server, principal, issuer, scopes, expiresAt, url };
}

function accountsOf({ accounts }: Gateway): Accounts {
  if (accounts !== undefined) return accounts;
  throw new ApiError(409, 'no_accounts', 'this gateway has no accounts on servers');
}
