/** The `_meta` of requests, results and notifications. */

import { isObject } from './values.ts';

type Params = Record<string, unknown>;

/** Ties a message to a task of the 2025-11-25 protocol. */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The call that an approval request of the gateway concerns. */
export const APPROVAL_META = 'meanwhile/approval';

/** Names the URL to call when the task of a call ends. */
export const WEBHOOK_META = 'meanwhile/webhook';

export function metaOf({ _meta }: Params): Params {
  return isObject(_meta) ? _meta : {};
}

export function withMeta<T extends Params>(message: T, key: string, value: unknown): T {
  return { ...message, _meta: { ...metaOf(message), [key]: value } };
}

/** Removes the key, and `_meta` if nothing else is in it. */
export function withoutMeta(message: Params, key: string): Params {
  const { _meta, ...rest } = message;
  if (!isObject(_meta) || !(key in _meta)) return message;
  const { [key]: _value, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** The entries with other keys than these. Also a key `__proto__` is copied, which an assignment would take for the prototype. */
export function withoutKeys(entries: Params, keys: ReadonlySet<string>): Params {
  for (const key in entries) {
    if (!keys.has(key)) return Object.fromEntries(Object.entries(entries).filter(([each]) => !keys.has(each)));
  }
  return {};
}

/** The id of the task that a message belongs to. */
export function relatedTask(message: Params): string | undefined {
  const related = metaOf(message)[RELATED_TASK];
  const taskId = isObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

export const withRelatedTask = <T extends Params>(message: T, taskId: string): T =>
  withMeta(message, RELATED_TASK, { taskId });

/** Task ids are known on one side of the gateway only, so they must not cross it. */
export const withoutRelatedTask = (message: Params): Params => withoutMeta(message, RELATED_TASK);
