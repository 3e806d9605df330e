/** Content blocks as text: text as it is, everything else as one line of description. */

import type { CallToolResult } from '../../client/types.ts';
import type { OutFolder } from '../out-folder.ts';
import { showBytes } from '../units.ts';
import { isObject } from '../../lib/values.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

type Block = Record<string, unknown>;

export async function showResult(result: CallToolResult, out: OutFolder | undefined): Promise<string> {
  const blocks = Array.isArray(result.content) ? result.content.filter(isObject) : [];
  const lines = await showBlocks(blocks, out);
  if (result.structuredContent !== undefined && !blocks.some(hasText)) {
    lines.push(stringifyExact(result.structuredContent, 2));
  }
  return lines.join('\n');
}

export async function showBlocks(blocks: readonly Block[], out: OutFolder | undefined): Promise<string[]> {
  const lines: string[] = [];
  for (const block of blocks) lines.push(await showBlock(block, out));
  return lines;
}

async function showBlock(block: Block, out: OutFolder | undefined): Promise<string> {
  switch (block['type']) {
    case 'text':
      return textOf(block['text']);
    case 'image':
    case 'audio':
      return showData(block['data'], [textOf(block['mimeType']) || block['type']], out, block['mimeType']);
    case 'resource_link':
      return showLink(block);
    case 'resource':
      return showContents(isObject(block['resource']) ? block['resource'] : {}, out);
    default:
      return stringifyExact(block);
  }
}

/** The contents of a resource. */
export async function showContents(contents: Block, out: OutFolder | undefined): Promise<string> {
  const { uri, mimeType, text, blob } = contents;
  if (typeof text === 'string') return text;
  return showData(blob, [textOf(uri), textOf(mimeType)].filter(Boolean), out, mimeType);
}

async function showData(
  data: unknown,
  about: readonly string[],
  out: OutFolder | undefined,
  mimeType: unknown,
): Promise<string> {
  const base64 = textOf(data);
  const facts = [...about, showBytes(Buffer.from(base64, 'base64').length)].join(', ');
  if (out === undefined) return `[${facts}]`;
  return `[${facts}: ${await out.save(base64, textOf(mimeType))}]`;
}

function showLink({ uri, name, title, mimeType, size, description }: Block): string {
  const facts = [textOf(mimeType), typeof size === 'number' ? showBytes(size) : ''].filter(Boolean).join(', ');
  const parts = [textOf(title) || textOf(name), textOf(uri), facts && `(${facts})`, textOf(description)];
  return `→ ${parts.filter(Boolean).join('  ')}`;
}

function hasText(block: Block): boolean {
  if (block['type'] === 'text') return true;
  return block['type'] === 'resource' && isObject(block['resource']) && typeof block['resource']['text'] === 'string';
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
