import { realpathSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskClient } from '../../client/task-client.ts';
import { HubClient } from '../../demo/hub-client.ts';
import { openStage } from '../../demo/stage.ts';
import { DEMO_RULE, tellHub, tellNative } from '../../demo/story.ts';
import { messageOf } from '../../lib/log.ts';
import { programPath } from '../config.ts';
import { EXIT_CODES } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';

/** Plays the demo with the real program as a child process, once for each kind of client. */
export async function demo({ flags }: CommandLine): Promise<number> {
  const { 'log-level': logLevel = 'error', ...others } = flags;
  const [unused] = Object.keys(others);
  if (unused !== undefined) {
    throw new UsageError(`demo runs its own gateway and server; --${unused} does not apply`);
  }
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.on('SIGINT', stop).on('SIGTERM', stop);
  // The reader may close the pipe early: `meanwhile demo | head`.
  process.stdout.on('error', stop);
  const interrupted = new Promise<'interrupted'>((resolve) => {
    stopped.signal.addEventListener('abort', () => resolve('interrupted'), { once: true });
  });
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-demo-'));
  const config = join(folder, 'meanwhile.json');
  await writeFile(config, JSON.stringify(demoConfig()));
  const gateway = [programPath(), 'stdio', '--config', config, '--store', ':memory:', '--log-level', logLevel];
  const native = new TaskClient({ command: process.execPath, args: [...gateway, '--all'] }, { elicitation: true });
  const hub = new HubClient();
  const play = async (): Promise<'played'> => {
    const stage = openStage(process.stdin, process.stdout, stopped);
    await native.connect();
    native.addEventListener('log', ({ detail: { source, data } }) => {
      if (source === 'stderr') process.stderr.write(`${String(data)}\n`);
    });
    await tellNative(native, stage);
    await native.disconnect();
    await hub.start(process.execPath, gateway);
    await tellHub(hub, stage, realpathSync(programPath()));
    return 'played';
  };
  try {
    const outcome = await Promise.race([play(), interrupted]);
    return outcome === 'played' ? 0 : EXIT_CODES.interrupted;
  } catch (error) {
    if (stopped.signal.aborted) return EXIT_CODES.interrupted;
    process.stderr.write(`meanwhile: the demo failed: ${messageOf(error)}\n`);
    return 1;
  } finally {
    await Promise.all([native.disconnect(), hub.close()]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** The same as without a config file, and a rule. */
function demoConfig(): Record<string, unknown> {
  const demo = { command: process.execPath, args: [programPath(), 'demo-server'] };
  return { mcpServers: { demo }, meanwhile: { rules: [DEMO_RULE] } };
}
