import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';
import { runCommand } from '../../support/command.ts';
import { asking, httpByHand, legacy, toolNamed } from '../native/by-hand.ts';

const EVERYTHING = `node ${join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')}`;

/** It has some of them only for clients that can be asked. */
const TOOLS = 18;

test('C-3: tools and doctor list also the tools that need a client with capabilities', async () => {
  const { stdout } = await runCommand(['tools', EVERYTHING, '--json']);
  expect((JSON.parse(stdout) as { tools: unknown[] }).tools).toHaveLength(TOOLS);
  const shown = await runCommand(['tools', EVERYTHING, 'trigger-elicitation-request']);
  expect(shown.stdout).toContain('trigger-elicitation-request');
  expect(shown.code).toBe(0);
  expect((await runCommand(['doctor', EVERYTHING])).stdout).toContain(`${TOOLS} tools`);
});

test.each(['tools', 'doctor'])('C-3: a question of a server is cancelled while %s examines it', async (command) => {
  const server = await httpByHand(
    legacy({
      'tools/list': (asker) => {
        asker.say(asking('q', 'May I?'));
        const answered = setInterval(() => {
          if (!server.heard.some(({ id }) => id === 'q')) return;
          clearInterval(answered);
          asker.reply({ tools: [toolNamed('work', 'optional')] });
        }, 20);
      },
    }),
  );
  const { code, stdout } = await runCommand([command, server.config.url, '--timeout', '10s']);
  expect(server.heard.find(({ id }) => id === 'q')).toMatchObject({ result: { action: 'cancel' } });
  expect(stdout).toContain(command === 'tools' ? 'work' : '1 tool');
  expect(code).toBe(0);
});
