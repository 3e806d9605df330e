import type { Leaving } from '../core/call/request.ts';
import type { CoreSettings } from '../core/settings.ts';

export type OnCancel = CoreSettings['calls']['onCancel'];

/** The reason with which the gateway itself closes a request that its client has left. */
export const REQUEST_LEFT = 'the client has left this request';

/**
 * The reasons of clients that have stopped waiting and may still want the result. Every other reason, and none at all,
 * counts as the wish of a user to stop the work: "AbortError: …" (TypeScript clients, on Escape), "caller cancelled"
 * (Python SDK), "context canceled" (Go SDK), no reason (C# SDK, VS Code, Zed).
 */
const STOPPED_WAITING: readonly RegExp[] = [
  // TypeScript SDK 1: "McpError: MCP error -32001: Request timed out", "… Maximum total timeout exceeded" (Claude Code,
  // Cursor, Gemini CLI, opencode). TypeScript SDK 2: "SdkError: Request timed out". `AbortSignal.timeout()`:
  // "TimeoutError: The operation was aborted due to timeout". Python SDK 2: "timed out after 60s". Kotlin SDK: "Request
  // timed out". rmcp, the Rust SDK: "request timeout", "maximum total timeout exceeded". Goose: "timed out". LangChain4j:
  // "Timeout".
  /time[ds]?[\s-]*out/i,
  // Go SDK: "context deadline exceeded".
  /deadline exceeded/i,
  // Codex 0.166, when its `tool_timeout_sec` is over: it drops the future that waits for the response. It sends the same
  // when its user interrupts the turn; keeping the result of that call costs less than losing the other one.
  /response future dropped/i,
  // Claude Code 2.1, when a call that it moved to the background has run for as long as it allows.
  /^detached-ceiling$/,
];

/** Whether a cancellation means that the client has stopped waiting, or that the work should stop. */
export function leavingFor(reason: unknown, onCancel: OnCancel): Leaving {
  if (reason === REQUEST_LEFT) return 'gone';
  switch (onCancel) {
    case 'cancel':
      return 'cancelled';
    case 'keep':
      return 'gone';
    case 'auto':
      return saysStoppedWaiting(reason) ? 'gone' : 'cancelled';
  }
}

/** A reason that is not a string is ignored. */
function saysStoppedWaiting(reason: unknown): boolean {
  return typeof reason === 'string' && STOPPED_WAITING.some((pattern) => pattern.test(reason));
}
