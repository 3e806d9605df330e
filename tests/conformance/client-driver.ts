/**
 * What the conformance suite starts as its client: `client-driver client|gateway URL`, with the scenario in the
 * environment. What it does there is judged by the suite; here only that nothing failed.
 */
import { messageOf } from '../../src/lib/log.ts';
import { direct } from './driver/direct.ts';
import { scenario } from './driver/scenarios.ts';
import { throughGateway } from './driver/through-gateway.ts';
import type { Json, Way } from './driver/way.ts';

async function main(): Promise<void> {
  const [through, url] = process.argv.slice(2);
  const { MCP_CONFORMANCE_SCENARIO: name = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
  if (url === undefined) throw new Error('usage: client-driver client|gateway URL');

  // Before the suite's own limit, which would end the shell around this process only.
  setTimeout(() => process.exit(1), 55_000).unref();

  const { run, beforeAnswer } = scenario(name);
  const hook = async (): Promise<unknown> => beforeAnswer?.(way);
  const way: Way = through === 'gateway' ? await throughGateway(url, hook) : direct(url, hook);
  try {
    await run(way, JSON.parse(context) as Json);
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  } finally {
    await way.close();
  }
}

void main();
