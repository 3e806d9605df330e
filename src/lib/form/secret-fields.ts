/** Which fields of a form ask for a secret, as far as their names tell. */

import { isObject } from '../values.ts';

/** Compared with words in lower case and single spaces, such as `api key` of `apiKey`. */
const SECRET = new RegExp(
  [
    'pass ?(?:word|phrase|code|key|wd)',
    '\\bpwd\\b',
    'secret',
    // Not what models count, and not a tokenizer.
    'token(?!s\\b|iz)',
    '(?:access|api|auth|bearer|refresh|session) ?tokens\\b',
    '(?:access|api|encryption|licen[cs]e|private|ssh) ?keys?\\b',
    'credential',
    '\\bpins?\\b',
    '\\bcv[cv]\\b',
    'card ?(?:no\\b|number)',
    'credit ?card',
    '\\botp\\b',
    'one ?time (?:code|password)',
    '(?:2fa|mfa|auth(?:entication|orization)?|recovery|security|verification) ?codes?\\b',
    'seed ?phrase',
    'mnemonic',
    '\\bssn\\b',
    'social security',
    '\\biban\\b',
  ].join('|'),
);

/** Whether a name, a title or a description of a field speaks of a secret. */
export function looksLikeSecret(text: string): boolean {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[\s_.-]+/g, ' ')
    .toLowerCase();
  return SECRET.test(words);
}

/** The name of the first field that asks for a secret; a yes or no never does. */
export function secretField(form: unknown, { descriptions = false } = {}): string | undefined {
  const { properties } = isObject(form) ? form : {};
  if (!isObject(properties)) return undefined;
  const found = Object.entries(properties).find(([name, field]) => {
    if (!isObject(field) || field['type'] === 'boolean') return false;
    const said = [name, field['title'], descriptions ? field['description'] : undefined];
    return field['format'] === 'password' || said.some((text) => typeof text === 'string' && looksLikeSecret(text));
  });
  return found?.[0];
}
