import { stringifyExact } from '../../lib/exact-json.ts';
import { escapeControls } from '../../lib/escape-controls.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import type { ApiClient } from '../gateway/api-client.ts';
import type { Me } from '../../lib/api-items.ts';
import { follow, type GatewayChange } from '../gateway/follow.ts';
import { assertHistory, openGateway } from '../gateway/open-gateway.ts';
import { describeQuestionEnd, serverAndTool, callState, subjectOf } from '../gateway/words.ts';
import { Stop } from '../stop.ts';
import { canDraw } from '../terminal/capabilities.ts';
import { FullScreen } from '../terminal/full-screen.ts';
import { fit } from '../terminal/layout.ts';
import { howFar } from '../terminal/progress-line.ts';
import { Screen } from '../terminal/screen.ts';
import { Board, isCall } from '../watch/board.ts';
import { endedSection, layOut, questionSection, titleOf, workSection, type WatchViewOptions } from '../watch/view.ts';

/** Follows the work of a gateway: on a terminal as a screen, elsewhere line by line. */
export async function watch(line: CommandLine): Promise<number> {
  const [address, extra] = line.operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  const gateway = await openGateway(line, address);
  assertHistory(gateway);
  const { api, me } = gateway;
  const screen = new Screen(line.flags);
  const stop = new Stop(undefined);
  const ending = new AbortController();
  stop.onInterrupt(() => ending.abort());
  stop.signal.addEventListener('abort', () => ending.abort(), { once: true });
  try {
    if (screen.json || !process.stdout.isTTY || !canDraw()) await printChanges(api, screen, ending.signal);
    else await drawScreen(api, me, screen, ending);
  } finally {
    stop.close();
  }
  return RESULT;
}

/** Every change from now on, one on a line. */
async function printChanges(api: ApiClient, screen: Screen, signal: AbortSignal): Promise<void> {
  let away = false;
  await follow(api, {
    signal,
    onOpen: async () => {
      if (away) screen.note(`${api.where} is back`);
      away = false;
    },
    onChange: (change) => {
      const text = screen.json ? jsonOf(change) : lineOf(change);
      if (text !== undefined) screen.printOwn(text);
    },
    onAway: (reason) => {
      if (!away) screen.note(reason);
      away = true;
    },
  });
}

function jsonOf(change: GatewayChange): string | undefined {
  if (change.kind === 'other') return undefined;
  return escapeControls(stringifyExact({ event: change.kind, item: change.item }));
}

function lineOf(change: GatewayChange): string | undefined {
  const time = new Date().toLocaleTimeString(undefined, { hour12: false });
  if (change.kind === 'question') {
    const { item } = change;
    const asked =
      item.status === 'open' ? `asks: ${subjectOf(item)}  (meanwhile inbox ${item.id})` : describeQuestionEnd(item);
    return [time, serverAndTool(item), 'question', asked].join('  ');
  }
  if (change.kind !== 'call' || !isCall(change.item)) return undefined;
  const { progress } = change.item;
  const bar = progress === undefined || change.item.endedAt !== undefined ? [] : howFar(progress, 0);
  return [time, serverAndTool(change.item), ...bar.map((text) => text.trim()), callState(change.item)].join('  ');
}

/** Changes within this time are drawn together. */
const DRAW_MS = 100;
/** How often the times on the screen are updated. */
const TICK_MS = 1000;

/** Runs until the person presses q or Ctrl-C, even through restarts of the gateway. */
async function drawScreen(api: ApiClient, me: Me, { style }: Screen, ending: AbortController): Promise<void> {
  const board = new Board();
  await board.load(api);
  const screen = new FullScreen(process.stdin, process.stdout);
  let problem = '';
  const draw = (): void => {
    const { columns, rows } = process.stdout;
    const now = Date.now();
    const options: WatchViewOptions = { style, columns, rows: rows - 2, now };
    const sections = [
      questionSection(board.questions, options),
      workSection(board.calls, options),
      endedSection(board.ended, options),
    ];
    const lines = layOut(titleOf(me, api.where, now), sections, options);
    screen.draw([...lines, '', problem === '' ? style.faint('q quits') : style.bad(fit(problem, columns))]);
  };
  const soon = new Soon(draw, DRAW_MS);
  screen.onResize = draw;
  screen.onKey = (key) => {
    if (key === 'q' || key === '\u0003') ending.abort();
  };
  screen.open();
  const ticking = setInterval(draw, TICK_MS);
  try {
    draw();
    await follow(api, {
      signal: ending.signal,
      onOpen: async () => {
        await board.load(api);
        problem = '';
        soon.call();
      },
      onChange: (change) => {
        board.apply(change);
        soon.call();
      },
      onAway: (reason) => {
        problem = reason;
        soon.call();
      },
    });
  } finally {
    clearInterval(ticking);
    soon.cancel();
    screen.close();
  }
}

/** Calls a function soon, once for all requests until then. */
class Soon {
  readonly #run: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(run: () => void, ms: number) {
    this.#run = run;
    this.#ms = ms;
  }

  call(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, this.#ms);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
