/** Rewrites resource links in results: in a group, some URIs must name their server. */

import { isObject } from '../../lib/values.ts';
import type { Params } from '../message.ts';

/** The result with its links rewritten: those in the blocks of a tool's result, or in the messages of a prompt. */
export function withLinks(result: Params, key: 'content' | 'messages', show: (uri: string) => string): Params {
  const list = result[key];
  if (!Array.isArray(list)) return result;
  const rewrite = key === 'content' ? inBlock : inMessage;
  const rewritten = list.map((each: unknown) => (isObject(each) ? rewrite(each, show) : each));
  return rewritten.every((each, index) => each === list[index]) ? result : { ...result, [key]: rewritten };
}

function inMessage(message: Params, show: (uri: string) => string): Params {
  const { content } = message;
  const rewritten = isObject(content) ? inBlock(content, show) : content;
  return rewritten === content ? message : { ...message, content: rewritten };
}

function inBlock(block: Params, show: (uri: string) => string): Params {
  switch (block['type']) {
    case 'resource_link':
      return withUri(block, show);
    case 'resource': {
      const { resource } = block;
      const rewritten = isObject(resource) ? withUri(resource, show) : resource;
      return rewritten === resource ? block : { ...block, resource: rewritten };
    }
    default:
      return block;
  }
}

function withUri(given: Params, show: (uri: string) => string): Params {
  const { uri } = given;
  const shown = typeof uri === 'string' ? show(uri) : uri;
  return shown === uri ? given : { ...given, uri: shown };
}
