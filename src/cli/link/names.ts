/** The clients that Meanwhile can be added to. */
export const CLIENT_NAMES = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'vscode',
  'windsurf',
  'zed',
  'codex',
  'gemini',
  'opencode',
] as const;

export type ClientName = (typeof CLIENT_NAMES)[number];

/** The name of Meanwhile's entry in the files of clients. */
export const ENTRY_NAME = 'meanwhile';
