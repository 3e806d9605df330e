import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { COMMANDS, PUBLIC_COMMANDS } from '../../../src/cli/definitions.ts';
import { runCommand } from '../../support/command.ts';

/** What bash offers at the end of this line. */
async function offeredByBash(...words: string[]): Promise<string[]> {
  const { stdout: script } = await runCommand(['completion', 'bash']);
  const given = ['meanwhile', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${given}); COMP_CWORD=${words.length}; _meanwhile; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const offered = execFileSync('bash', ['-uc', `${script}\n${ask}`], { encoding: 'utf8' });
  return offered.split('\n').filter((word) => word !== '');
}

test('L-2: bash completes commands, flags, flag values and arguments of a command', async () => {
  expect(await offeredByBash('')).toEqual(expect.arrayContaining([...PUBLIC_COMMANDS, 'help', '--version']));
  expect(await offeredByBash('comp')).toEqual(['completion']);
  expect(await offeredByBash('--config', 'x', 'ser')).toEqual(['serve']);
  expect(await offeredByBash('serve', '--po')).toEqual(['--port']);
  expect(await offeredByBash('stdio', '--po')).toEqual([]);
  expect(await offeredByBash('serve', '--log-level', 'de')).toEqual(['debug']);
  // With = in a word bash has three.
  expect(await offeredByBash('--config', '=', 'x', 'ser')).toEqual(['serve']);
  expect(await offeredByBash('serve', '--log-level', '=', 'de')).toEqual(['debug']);
  expect(await offeredByBash('serve', '--log-level', '=')).toContain('debug');
  expect(await offeredByBash('link', 'cursor', 'cod')).toEqual(['codex']);
  expect(await offeredByBash('store', 'pr')).toEqual(['prune']);
  expect(await offeredByBash('help', 'exit')).toEqual(['exit-codes']);
  // Files are completed by bash itself.
  expect(await offeredByBash('serve', '--config', 'a')).toEqual([]);
});

test.each(['bash', 'zsh', 'fish'])(
  'L-2: the completion script for %s contains all commands and flags',
  async (shell) => {
    const { code, stdout } = await runCommand(['completion', shell]);
    expect(code).toBe(0);
    for (const name of PUBLIC_COMMANDS) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`));
    const shown = new Set(PUBLIC_COMMANDS.flatMap((name) => COMMANDS[name].flags));
    for (const flag of shown) expect(stdout, flag).toContain(shell === 'fish' ? `-l ${flag} ` : `--${flag}`);
    expect(stdout).not.toContain('demo-server');
    // Quotes within the texts are written so that the shell reads them as text.
    expect(
      stdout
        .replaceAll(String.raw`'\''`, '')
        .replaceAll(String.raw`\'`, '')
        .match(/'/g)?.length ?? 0,
    ).toSatisfy((count: number) => count % 2 === 0);
  },
);

test('L-2: zsh and fish complete further client names after the first', async () => {
  const { stdout: zsh } = await runCommand(['completion', 'zsh']);
  expect(zsh).toMatch(/^ *unlink\) .* '\*: :\(claude-code [^)]*\)' ;;$/m);
  const { stdout: fish } = await runCommand(['completion', 'fish']);
  expect(fish).toMatch(/^complete -c meanwhile -n '__fish_seen_subcommand_from unlink' -a 'claude-code /m);
});

test.each([[[]], [['csh']], [['bash', 'zsh']]])(
  'L-2: completion %j is refused with the list of supported shells',
  async (args) => {
    const { code, stderr } = await runCommand(['completion', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain('expected meanwhile completion bash, zsh or fish');
  },
);
