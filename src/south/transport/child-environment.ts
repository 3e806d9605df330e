/** The variables that a server needs to run at all. Any other may be a secret, and is passed on only by the config. */
const INHERITED =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'COMSPEC',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROCESSOR_ARCHITECTURE',
        'PROGRAMDATA',
        'PROGRAMFILES',
        'PROGRAMFILES(X86)',
        'PROGRAMW6432',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'USERNAME',
        'USERPROFILE',
        'WINDIR',
      ]
    : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

/** The environment that every server gets. The SDK's clients pass on the same, so servers are known to run with it. */
export function inheritedEnvironment(): Record<string, string> {
  const variables = INHERITED.map((name) => [name, process.env[name]] as const);
  // A value with "()" in front is a function of the shell.
  return Object.fromEntries(
    variables.filter((entry): entry is [string, string] => entry[1] !== undefined && !entry[1].startsWith('()')),
  );
}
