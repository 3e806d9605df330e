/**
 * The gateway of the soak, from its source, so that it can be asked what it holds. Argument: its config file. Sends its
 * address to its parent, and `counts` when asked.
 */
import { createLog } from '../../src/lib/log.ts';
import { loadConfig, startHttp } from '../../src/main.ts';

/** What a gateway with nothing to do has none of. */
export interface Counts {
  sessions: number;
  questions: number;
  calls: number;
  tasks: number;
  working: number;
  streams: number;
  requests: number;
}

const [config = ''] = process.argv.slice(2);
const log = createLog('warn', (line) => process.stderr.write(`${line}\n`));
const running = await startHttp(await loadConfig({ flags: { config }, env: {}, cwd: '/' }), log);
const { gateway, listener, url } = running;

function counts(): Counts {
  const { sessions } = gateway;
  const total = (of: (session: (typeof sessions)[number]) => number): number =>
    sessions.reduce((sum, session) => sum + of(session), 0);
  const { streams, requests } = listener.counts;
  return {
    sessions: sessions.length,
    questions: total(({ interactions }) => interactions.size),
    calls: total(({ calls }) => calls.size),
    tasks: total(({ tasks }) => tasks.list().length),
    working: total(({ tasks }) => tasks.atWork().length),
    streams,
    requests,
  };
}

process.on('message', (message) => {
  if (message === 'counts') process.send?.(counts());
});
process.once('SIGTERM', () => {
  void running.close().then(() => process.exit(0));
});
process.send?.({ url });
