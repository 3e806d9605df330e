import { Failure } from '../failure.ts';
import type { CommandLine } from '../flags.ts';
import { ApiClient } from './api-client.ts';
import type { Me } from '../../lib/api-items.ts';
import { findGateway } from './find-gateway.ts';

export interface OpenGateway {
  api: ApiClient;
  me: Me;
}

/** Finds a running gateway, and checks that it admits this person. */
export async function openGateway(line: CommandLine, operand?: string): Promise<OpenGateway> {
  const api = await ApiClient.open(async () => findGateway(line, operand));
  return { api, me: await api.get<Me>('me') };
}

/** For commands that need the history: without it the API has no questions and calls. */
export function assertHistory({ api, me }: OpenGateway): void {
  if (me.history.keepMs > 0) return;
  throw new Failure('refused', `${noHistory(api.where)}; remove the setting and restart the gateway`);
}

export const noHistory = (where: string): string =>
  `the gateway at ${where} does not record calls and questions (history.keepMs is 0)`;
