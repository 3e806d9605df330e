/** Lets a person review a prompt before it is sent to a model. */

import type { Clock } from '../../lib/clock.ts';
import { escapeControls } from '../../lib/escape-controls.ts';
import { shortenText } from '../../lib/shorten.ts';
import { isObject } from '../../lib/values.ts';
import type { OpenInteraction } from '../interaction/interaction.ts';
import { requestOf, type Link } from '../interaction/link.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import type { Asker } from '../ports/connection.ts';

/** The shown length of the prompt. */
const SHOWN_CHARS = 4000;
/** The minimum shown of each part, and the resulting maximum in total. */
const LEAST_SHOWN = 200;
const MOST_SHOWN = 40_000;

export type ReviewDecision = 'send' | 'refuse' | 'undecided';

export interface Reviewed {
  question: OpenInteraction;
  /** The name of the model in the config. */
  model: string;
  /** Aborted when the question has ended. */
  over: AbortSignal;
  clock: Clock;
}

/** Asks on behalf of the asking call. A decline refuses the server's request; dismissing the form decides nothing. */
export async function reviewPrompt(
  interactions: InteractionRouter,
  { question, model, over, clock }: Reviewed,
): Promise<ReviewDecision> {
  const { server, params, link, detached, expiresAt } = question;
  const { action, content } = await interactions.ask(server, {
    kind: 'elicitation',
    params: {
      message: `The server '${server}' asks the model '${model}' to answer this. Send it?\n\n${promptText(params)}`,
      requestedSchema: {
        type: 'object',
        properties: {
          decision: { type: 'string', title: 'Decision', enum: ['send', 'refuse'], enumNames: ['Send', 'Refuse'] },
        },
        required: ['decision'],
      },
    },
    ...askerOf(link),
    withdrawn: over,
    timeoutMs: Math.max(1, expiresAt - clock.now()),
    fromGateway: true,
    approver: 'person',
    ...(detached && { detached }),
  });
  if (action === 'decline') return 'refuse';
  if (action !== 'accept' || !isObject(content)) return 'undecided';
  return content['decision'] === 'send' ? 'send' : 'refuse';
}

function askerOf(link: Link): Asker & { taskId?: string } {
  const request = requestOf(link);
  if (request !== undefined) return request;
  if (link.certainty !== 'possible') return {};
  return { candidates: { calls: link.calls.flatMap(({ callId }) => callId ?? []), others: link.others } };
}

/** The readable prompt. Each part is shortened separately, so that a long part does not hide another. */
export function promptText(params: Record<string, unknown>): string {
  const { systemPrompt, messages, tools } = params;
  const parts: string[] = [];
  if (typeof systemPrompt === 'string') parts.push(`system: ${systemPrompt}`);
  for (const message of Array.isArray(messages) ? messages : []) {
    if (isObject(message)) parts.push(`${String(message['role'])}: ${contentText(message['content'])}`);
  }
  for (const tool of Array.isArray(tools) ? tools : []) if (isObject(tool)) parts.push(`tool: ${toolText(tool)}`);
  const most = Math.max(LEAST_SHOWN, Math.floor(SHOWN_CHARS / parts.length));
  return escapeControls(shortenText(parts.map((part) => shortenText(part, most)).join('\n'), MOST_SHOWN));
}

function toolText({ name, description, inputSchema }: Record<string, unknown>): string {
  const about = typeof description === 'string' ? `: ${description}` : '';
  return `${String(name)}${about}${inputSchema === undefined ? '' : ` ${JSON.stringify(inputSchema)}`}`;
}

function contentText(content: unknown): string {
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  return blocks.map((block) => (isObject(block) ? blockText(block) : '')).join('\n');
}

function blockText(block: Record<string, unknown>): string {
  switch (block['type']) {
    case 'text':
      return String(block['text']);
    case 'tool_use':
      return `[calls the tool ${String(block['name'])}: ${JSON.stringify(block['input'])}]`;
    case 'tool_result':
      return `[result of the tool: ${resultText(block)}]`;
    case 'resource_link':
      return `${String(block['name'])}: ${String(block['uri'])}`;
    case 'resource':
      return resourceText(isObject(block['resource']) ? block['resource'] : {});
    default:
      return `[${String(block['mimeType'] ?? block['type'])}]`;
  }
}

/** Falls back to structured content if a tool returned nothing else. */
function resultText({ content, structuredContent }: Record<string, unknown>): string {
  const hasContent = Array.isArray(content) && content.length > 0;
  return hasContent || structuredContent === undefined ? contentText(content) : JSON.stringify(structuredContent);
}

function resourceText({ uri, text, mimeType }: Record<string, unknown>): string {
  return typeof text === 'string' ? text : `[${String(mimeType)} ${String(uri)}]`;
}
