/** Values of labels from clients and servers, of which there must be few: whatever is not known is `_OTHER`. */

const OTHER = '_OTHER';

const METHODS: ReadonlySet<string> = new Set([
  'completion/complete',
  'initialize',
  'logging/setLevel',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'subscriptions/listen',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
]);

const ERRORS: ReadonlySet<string> = new Set([
  'tool_error',
  'cancelled',
  'unreachable',
  'lost',
  '-32700',
  '-32600',
  '-32601',
  '-32602',
  '-32603',
  '-32000',
  '-32001',
  '-32002',
  '-32042',
]);

export const methodLabel = (method: string): string => (METHODS.has(method) ? method : OTHER);

/** Empty for a request without an error, as if there were no such label. */
export function errorLabel(errorType: string | undefined): string {
  if (errorType === undefined) return '';
  return ERRORS.has(errorType) ? errorType : OTHER;
}

/** How a tool call has ended. */
export function outcomeLabel(errorType: string | undefined): string {
  if (errorType === undefined) return 'result';
  return errorType === OTHER || /^-?\d+$/.test(errorType) ? 'error' : errorType;
}
