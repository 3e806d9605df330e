/** Config files of MCP clients as they are found in the wild: comments, odd order and layout, line ends of Windows. */
import type { ClientName } from '../../src/cli/link/names.ts';

export interface Sample {
  client: ClientName;
  /** What is special about it. */
  what: string;
  text: string;
}

const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
const tabs = (text: string): string => text.replaceAll(/^(?: {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2));
const BOM = '\uFEFF';

const CLAUDE_CODE = `{
  "numStartups": 184,
  "installMethod": "global",
  "tipsHistory": { "new-user-warmup": 3, "shift-enter": 170 },
  "userID": "9f3c0a4e5b7d",
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" }
    },
    "postgres": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-postgres", "postgresql://localhost/mydb"],
      "env": {}
    }
  },
  "projects": {
    "/home/ada/shop": {
      "allowedTools": [],
      "mcpServers": { "shop": { "command": "node", "args": ["shop.js"] } },
      "lastCost": 0.31
    }
  },
  "largestNumber": 12345678901234567890
}`;

const CLAUDE_DESKTOP = `{
  "globalShortcut": "",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"]
    }
  },
  "preferences": { "menuBarEnabled": false }
}
`;

const CURSOR = `{
  // Shared with the team, see the wiki
  "mcpServers": {
    "linear": { "url": "https://mcp.linear.app/mcp" }, /* signs in by itself */
    "db": {
      "command": "uvx",
      "args": ["mcp-server-sqlite", "--db-path", "\${userHome}/test.db"],
      "env": { "API_KEY": "sk-cursor-0123456789abcdef" }
    } // the old database
    // "old": { "command": "gone" }
  }
}
`;

const VSCODE = `{
  "inputs": [
    { "type": "promptString", "id": "perplexity-key", "description": "API key", "password": true, },
  ],
  // servers of all workspaces
  "servers": {
    "perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask"],
      "env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}" },
    },
    "playwright": { "type": "http", "url": "http://localhost:8931/mcp", "gallery": true, },
  },
}
`;

const WINDSURF = `{
  "mcpServers": {
    "figma": { "serverUrl": "https://mcp.figma.com/mcp", "disabled": true },
    "maps": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-google-maps"],
      "env": { "GOOGLE_MAPS_API_KEY": "\${env:MAPS_KEY}" },
      "disabledTools": ["maps_elevation"]
    }
  }
}`;

const ZED = `// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "context_servers": {
    "local": {
      "source": "custom",
      "command": "some-command",
      "args": ["arg-1"],
      "env": {},
    },
    "old": { "command": { "path": "old-command", "args": [], "env": { "TOKEN": "t" } } },
    "from-extension": { "settings": {} },
  },
  "vim_mode": true,
  "theme": { "mode": "system", "light": "One Light", "dark": "One Dark" }, // both
}
`;

const CODEX = `# Codex
model = "gpt-5.6-codex"   # the usual one
approval_policy = "on-request"
notify = [
  "python3", # a script of mine
  "/home/ada/notify.py",
]

[mcp_servers.context7]
command = 'npx'
args = ["-y", "@upstash/context7-mcp"]
env = { "TOKEN" = "c7-secret" }

[mcp_servers.figma]   # remote
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "eu" }

[mcp_servers."docs server".env]
A = """
[mcp_servers.meanwhile] is only text here
"""

[mcp_servers."docs server"]
command = "docs"
enabled = false

# profiles
[profiles.fast]
model = "gpt-5.6-mini"
`;

const GEMINI = `{
  "security": { "auth": { "selectedType": "oauth-personal" } },
  /* my servers */
  "mcpServers": {
    "weather": { "httpUrl": "https://example.org/mcp", "headers": { "X-Key": "$WEATHER_KEY" }, "timeout": 5000 },
    "py": { "command": "python", "args": ["-m", "my_server"], "cwd": "./server", "trust": true }
  },
  "ui": { "theme": "GitHub" } // light
}
`;

const OPENCODE = `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "everything": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],
      "environment": { "KEY": "{env:EVERYTHING_KEY}" },
    },
    "remote": { "type": "remote", "url": "https://example.org/mcp", "enabled": false },
  },
  // "theme": "dark",
  "model": "anthropic/claude-opus",
}
`;

const REAL: Record<ClientName, string> = {
  'claude-code': CLAUDE_CODE,
  'claude-desktop': CLAUDE_DESKTOP,
  cursor: CURSOR,
  vscode: VSCODE,
  windsurf: WINDSURF,
  zed: ZED,
  codex: CODEX,
  gemini: GEMINI,
  opencode: OPENCODE,
};

const ALL = Object.entries(REAL) as [ClientName, string][];

export const realFile = (client: ClientName): string => REAL[client];

export const SAMPLES: readonly Sample[] = [
  ...ALL.flatMap(([client, text]): Sample[] => [
    { client, what: 'as it is', text },
    { client, what: 'CRLF', text: crlf(text) },
    { client, what: 'tabs', text: tabs(text) },
    { client, what: 'BOM', text: BOM + text },
    { client, what: 'no final line end', text: text.trimEnd() },
    { client, what: 'empty lines at the end', text: `${text}\n\n` },
    { client, what: 'nothing', text: '' },
    { client, what: 'only a line end', text: '\n' },
  ]),
  ...(
    [
      ['cursor', 'no servers yet', '{}'],
      ['cursor', 'an empty table', '{\n    "mcpServers": {}\n}\n'],
      ['cursor', 'a table with nothing but a comment', '{\n  "mcpServers": {\n    // none yet\n  }\n}\n'],
      ['cursor', 'a block comment alone', '{ /* none */ }'],
      ['claude-code', 'one line', '{"numStartups":1,"mcpServers":{"a":{"command":"b"}},"z":[1,2]}'],
      ['claude-code', 'one line without servers', '{"numStartups":1}\n'],
      ['claude-code', 'one line with an empty table', '{"mcpServers":{},"z":1}'],
      ['claude-desktop', 'another table first', '{\n  "preferences": {\n    "a": 1\n  }\n}'],
      ['vscode', 'servers on one line', '{\n  "servers": { "a": { "command": "b" } },\n  "inputs": []\n}\n'],
      ['zed', 'nothing but comments', '// Zed settings\n{\n  // "vim_mode": true\n}\n'],
      ['zed', 'a comment after the last comma', '{\n  "vim_mode": true, // yes\n}\n'],
      ['codex', 'nothing but a comment', '# Codex'],
      ['codex', 'dotted keys', 'mcp_servers.a.command = "b"\n'],
      ['codex', 'an array of tables last', '[[things]]\nname = "x"\n\n[[things]]\nname = "y"'],
    ] as const
  ).map(([client, what, text]): Sample => ({ client, what, text })),
];

/** Files that must be left alone, and what is said about them. */
export const NOT_UNDERSTOOD: readonly (Sample & { problem: string })[] = [
  { client: 'cursor', what: 'broken', text: '{ "mcpServers": { "a": }', problem: 'line 1, column' },
  { client: 'cursor', what: 'a list', text: '[]', problem: 'expected a JSON object' },
  { client: 'cursor', what: 'another shape', text: '{"mcpServers": []}', problem: '"mcpServers" should be an object' },
  { client: 'cursor', what: 'null', text: '{"mcpServers": null}', problem: '"mcpServers" should be an object' },
  {
    client: 'cursor',
    what: 'a key twice',
    text: '{"mcpServers": {}, "mcpServers": {}}',
    problem: '"mcpServers" occurs twice',
  },
  { client: 'claude-code', what: 'comments', text: '{ // no\n}', problem: 'a comment, which JSON does not have' },
  { client: 'gemini', what: 'a last comma', text: '{ "ui": {}, }', problem: "a comma before '}'" },
  { client: 'codex', what: 'broken', text: 'model = \n', problem: 'not valid TOML' },
  {
    client: 'codex',
    what: 'an inline table',
    text: 'mcp_servers = { a = { command = "b" } }\n',
    problem: 'write each server as [mcp_servers.NAME]',
  },
  { client: 'codex', what: 'another shape', text: 'mcp_servers = 3\n', problem: 'mcp_servers should be a table' },
];
