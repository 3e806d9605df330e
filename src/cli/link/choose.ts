import { didYouMean } from '../did-you-mean.ts';
import { UsageError } from '../flags.ts';
import { CLIENTS } from './clients.ts';
import type { Machine } from './machine.ts';
import { CLIENT_NAMES, type ClientName } from './names.ts';

/** Names that people may type. */
const OTHER_NAMES: Record<string, ClientName> = {
  claude: 'claude-code',
  'claude-cli': 'claude-code',
  code: 'vscode',
  'vs-code': 'vscode',
  'gemini-cli': 'gemini',
};

/** The clients that are named, else all. */
export function clientsNamed(operands: readonly string[]): readonly ClientName[] {
  return operands.length === 0 ? CLIENT_NAMES : [...new Set(operands.map(clientNamed))];
}

function clientNamed(text: string): ClientName {
  const name = CLIENT_NAMES.find((each) => each === text.toLowerCase()) ?? OTHER_NAMES[text.toLowerCase()];
  if (name !== undefined) return name;
  throw new UsageError(`no client '${text}'${didYouMean(text, CLIENT_NAMES)}\nthere are ${CLIENT_NAMES.join(', ')}`);
}

export function presentClients(machine: Machine): readonly ClientName[] {
  return CLIENT_NAMES.filter((name) => CLIENTS[name].isPresent(machine));
}
