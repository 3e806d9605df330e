/** Which URLs tasks may call when they end. Otherwise a client could make the gateway call any address that it reaches. */

import { isIP, type LookupFunction } from 'node:net';
import { GatewayError } from '../core/errors.ts';
import { WEBHOOK_META } from '../lib/meta.ts';
import { addressCheck } from '../lib/addresses.ts';
import { checkedLookup } from '../lib/checked-lookup.ts';
import { compileUrlPattern, type UrlPattern } from '../lib/url-pattern.ts';
import { SendFailure } from './target.ts';

const MOST_CHARS = 2048;
const isPublic = addressCheck('public');

export class TaskWebhooks {
  readonly #allowed: readonly UrlPattern[];

  constructor(patterns: readonly string[]) {
    this.#allowed = patterns.flatMap((pattern) => compileUrlPattern(pattern) ?? []);
  }

  /** The URL as it is called; throws if it is not allowed. */
  check(given: unknown): string {
    if (typeof given !== 'string' || given.length > MOST_CHARS || !URL.canParse(given)) {
      throw refused('TOOL_ERR_INVALID_ARGUMENT', 'expected a URL');
    }
    const url = new URL(given);
    if (url.username !== '' || url.password !== '') {
      throw refused('TOOL_ERR_INVALID_ARGUMENT', 'a URL with credentials is not accepted');
    }
    url.hash = '';
    if (this.#ruleFor(url) === undefined) {
      throw refused(
        'TOOL_ERR_NOT_ALLOWED',
        `calling ${url.origin} is not allowed; the operator can allow it with meanwhile.notify.taskWebhooks.allow`,
      );
    }
    return url.href;
  }

  /** How to resolve the host; throws if the URL is not allowed any more. */
  lookupFor(url: URL): LookupFunction | undefined {
    const rule = this.#ruleFor(url);
    if (rule === undefined) throw new SendFailure('the URL is no longer allowed', { isFinal: true });
    if (rule.namesHost || isPublic === undefined) return undefined;
    return checkedLookup(isPublic, notPublic);
  }

  /** A host that the operator has named may be anywhere. Of hosts that a client chooses only public ones are called. */
  #ruleFor(url: URL): UrlPattern | undefined {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const mayBeThere = isIP(host) === 0 || isPublic?.(host) === true;
    return this.#allowed.find(({ matches, namesHost }) => matches(url) && (namesHost || mayBeThere));
  }
}

function refused(code: 'TOOL_ERR_INVALID_ARGUMENT' | 'TOOL_ERR_NOT_ALLOWED', why: string): GatewayError {
  return new GatewayError(code, `_meta["${WEBHOOK_META}"]: ${why}`);
}

/** The address is not shown: that would reveal the internal network. */
const notPublic = (host: string): SendFailure =>
  new SendFailure(`'${host}' is not at a public address`, { isFinal: true });
