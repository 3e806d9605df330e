/** The metadata that ties a message to a task of the 2025-11-25 protocol. */

import { isObject } from './values.ts';

type Params = Record<string, unknown>;

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The id of the task that a message says it belongs to. */
export function relatedTask({ _meta }: Params): string | undefined {
  const related = isObject(_meta) ? _meta[RELATED_TASK] : undefined;
  const taskId = isObject(related) ? related['taskId'] : undefined;
  return typeof taskId === 'string' ? taskId : undefined;
}

export function withRelatedTask<T extends Params>(value: T, taskId: string): T {
  const meta = isObject(value['_meta']) ? value['_meta'] : {};
  return { ...value, _meta: { ...meta, [RELATED_TASK]: { taskId } } };
}

/** Task ids are known on one side of the gateway only, so the mark must not cross it. */
export function withoutRelatedTask(value: Params): Params {
  const { _meta, ...rest } = value;
  if (!isObject(_meta) || !(RELATED_TASK in _meta)) return value;
  const { [RELATED_TASK]: _mark, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
