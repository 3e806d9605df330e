import { messageOf } from '../../lib/log.ts';
import { Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { gatewayAddress, shownBase, type GatewayLocation } from '../gateway/address.ts';
import { Stop } from '../stop.ts';
import { canDraw } from '../terminal/capabilities.ts';
import { FullScreen } from '../terminal/full-screen.ts';
import { fit } from '../terminal/layout.ts';
import { Screen } from '../terminal/screen.ts';
import { readGateway } from '../top/read-gateway.ts';
import { summarize, type GatewaySummary } from '../top/summary.ts';
import { view, type Rates } from '../top/view.ts';
import { parseDuration } from '../units.ts';

const INTERVAL = '2s';

/** Shows the metrics of a gateway: once, or continuously on a terminal. */
export async function top(line: CommandLine): Promise<number> {
  const { flags, operands } = line;
  const [address, extra] = operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  const intervalMs = parseDuration(flags.interval ?? INTERVAL, 'interval');
  const gateway = await gatewayAddress(line, address);
  const screen = new Screen(flags);
  const first = summarize(await readGateway(gateway));
  const where = shownBase(gateway.base);
  if (screen.json) screen.printJson({ url: where, ...first });
  else if (flags.once || !process.stdout.isTTY || !canDraw()) {
    const columns = process.stdout.isTTY ? process.stdout.columns : Infinity;
    screen.printOwn(view(first, { where, style: screen.style, columns }).join('\n'));
  } else await watch(gateway, first, intervalMs, screen);
  return RESULT;
}

/** Runs until the person presses q or Ctrl-C, even through restarts of the gateway. */
async function watch(
  gateway: GatewayLocation,
  first: GatewaySummary,
  intervalMs: number,
  { style }: Screen,
): Promise<void> {
  const where = shownBase(gateway.base);
  const stop = new Stop(undefined);
  const screen = new FullScreen(process.stdin, process.stdout);
  const left = new Promise<void>((resolve) => {
    stop.onInterrupt(resolve);
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
    screen.onKey = (key) => {
      if (key === 'q' || key === '\u0003') resolve();
    };
  });
  let latest = { summary: first, at: performance.now() };
  let rates: Rates | undefined;
  let problem = '';
  const draw = (): void => {
    const { columns, rows } = process.stdout;
    const lines = view(latest.summary, { where, style, columns, rows: rows - 2, rates });
    screen.draw([...lines, '', problem === '' ? style.faint('q quits') : style.bad(fit(problem, columns))]);
  };
  const look = async (): Promise<void> => {
    try {
      const summary = summarize(await readGateway(gateway));
      const at = performance.now();
      rates = { seconds: (at - latest.at) / 1000, before: latest.summary };
      latest = { summary, at };
      problem = '';
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      problem = messageOf(error);
    }
    draw();
  };
  screen.onResize = draw;
  screen.open();
  try {
    draw();
    await repeated(look, intervalMs, left);
  } finally {
    screen.close();
    stop.close();
  }
}

/** Runs it at intervals until the promise resolves. */
async function repeated(run: () => Promise<void>, intervalMs: number, until: Promise<void>): Promise<void> {
  let over = false;
  const ended = until.then(() => {
    over = true;
  });
  for (;;) {
    let timer: NodeJS.Timeout | undefined;
    const pause = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, intervalMs);
    });
    await Promise.race([pause, ended]);
    clearTimeout(timer);
    if (over) return;
    await Promise.race([run(), ended]);
  }
}
