import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { atConsole } from '../../support/console.ts';
import { configFile, httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { logged, serveProgram } from '../../support/program.ts';

const ANSWERS = [
  { name: 'no links', tool: 'ask_url', action: 'decline' },
  { name: 'the name', server: 'one', tool: 'ask', message: 'Who*', action: 'accept', content: { name: 'Ada' } },
  { name: 'not now', tool: 'ask', message: 'Later*', action: 'cancel' },
];

test.each(['v1', 'modern'])('G-3: standing answers answer routine questions at once (server %s)', async (era) => {
  const server = owned(await (era === 'v1' ? startV1Http() : startV2Http({ era: 'modern' })));
  const gateway = await httpGateway({ one: { url: server.url } }, { answers: ANSWERS });
  const hub = await hubOverHttp(gateway.url);
  const call = async (tool: string, args = {}) => hub.call('execute_tool', { server: 'one', tool, args });
  const greeted = await call('ask', { message: 'Who are you?' });
  expect([greeted.text, greeted.elicitations]).toEqual(['Hello Ada', []]);
  const person = await atConsole(gateway);
  expect(await person.one('/questions?status=ended')).toMatchObject({
    tool: 'ask',
    answeredBy: { principal: 'local', via: 'rule', name: 'the name' },
  });
  expect((await call('ask', { message: 'Later?' })).elicitations).toEqual([]);
  const [last] = await person.waitFor('/questions?status=ended', 2);
  expect(last).toMatchObject({ status: 'cancelled', answeredBy: { via: 'rule', name: 'not now' } });
  // No rule is for this.
  expect((await call('ask', { message: 'What else?' })).elicitations).toHaveLength(1);
});

test('G-3: no standing answer opens a URL or fills in a secret', async () => {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } }, { answers: ANSWERS });
  const hub = await hubOverHttp(gateway.url);
  const call = async (tool: string, args = {}) => hub.call('execute_tool', { server: 'one', tool, args });
  expect((await call('ask_url')).elicitations).toHaveLength(1);
  expect((await call('ask', { message: 'Who?', field: 'password' })).elicitations).toHaveLength(2);
  expect(gateway.logs.find(({ event }) => event === 'standing_answer_not_used')?.data).toMatchObject({
    rule: 'the name',
    reason: "the field 'password' looks like a secret; a person must answer",
  });
});

test('G-3: serve --dry-run logs the standing answers that would apply, and answers nothing', async () => {
  const server = owned(await startV1Http());
  const config = await configFile({ one: { url: server.url } }, { answers: ANSWERS });
  const program = await serveProgram(['--config', config, '--dry-run']);
  const hub = await hubOverHttp(program.url);
  const args = { message: 'Who are you?' };
  const { elicitations } = await hub.call('execute_tool', { server: 'one', tool: 'ask', args });
  expect(elicitations).toHaveLength(1);
  const { level, data } = await logged(program, 'standing_answer_dry_run');
  expect(level).toBe('warn');
  expect(data).toMatchObject({
    requestId: elicitations[0]?.requestId,
    server: 'one',
    tool: 'ask',
    rule: 'the name',
    wouldAnswer: { action: 'accept', content: { name: 'Ada' } },
  });
});
