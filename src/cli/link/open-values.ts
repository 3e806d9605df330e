/** Which values of entries may be shown: no variables, headers, passwords, keys. */

import { URL_KEYS } from '../../config/server-entries.ts';
import { looksSecret, redactUrl } from '../../lib/redact.ts';
import { isObject } from '../../lib/values.ts';

export function openValues(entries: Iterable<unknown>): (value: string) => boolean {
  const open = new Set<unknown>();
  for (const entry of entries) {
    if (!isObject(entry)) continue;
    for (const key of ['type', 'cwd', 'envFile']) open.add(entry[key]);
    // opencode has the arguments in there, too.
    const words = [entry['command'], entry['args']].flat();
    for (const [index, word] of words.entries()) if (isOpenArgument(word, words[index - 1])) open.add(word);
    for (const key of URL_KEYS) if (isOpenUrl(entry[key])) open.add(entry[key]);
  }
  return (value) => open.has(value) || isVariable(value) || isFlag(value);
}

const SECRET_FLAG = /key|token|secret|auth|credential|header|(?:^|[-_])(?:pass|pwd|pat(?![a-z]))|^-p$/i;

function isOpenArgument(value: unknown, before: unknown): boolean {
  if (typeof value !== 'string') return false;
  if (isVariable(value)) return true;
  if (typeof before === 'string' && before.startsWith('-') && SECRET_FLAG.test(before)) return false;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return isOpenUrl(value);
  const [flag = '', ...assigned] = value.split('=');
  return assigned.length === 0
    ? !value.split(/[\\/]/).some(looksSecret)
    : !SECRET_FLAG.test(flag) && !looksSecret(assigned.join('='));
}

const isOpenUrl = (url: unknown): boolean =>
  typeof url === 'string' && URL.canParse(url) && redactUrl(url) === new URL(url).href;

const isFlag = (value: string): boolean => /^--[a-z-]+$/.test(value);

const isVariable = (value: string): boolean => /^(?:Bearer )?\$\{[\w:]+-?\}$/.test(value);
