import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import type { Server, Session } from '../../lib/api-items.ts';
import { noHistory, openGateway } from '../gateway/open-gateway.ts';
import { Screen } from '../terminal/screen.ts';
import { Board } from '../watch/board.ts';
import { layOut, questionSection, serverSection, sessionSection, titleOf, workSection } from '../watch/view.ts';

/** Shows the running calls, tasks and open questions of a gateway. */
export async function status(line: CommandLine): Promise<number> {
  const [address, extra] = line.operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  const { api, me } = await openGateway(line, address);
  const screen = new Screen(line.flags);
  const board = new Board();
  const [{ items: servers }, { items: sessions }] = await Promise.all([
    api.get<{ items: Server[] }>('servers'),
    api.get<{ items: Session[] }>('sessions', { state: 'live' }),
    board.load(api),
  ]);
  const { questions, calls } = board;
  if (screen.json) {
    screen.printJson({ url: api.where, ...me, questions, calls, servers, sessions });
    return RESULT;
  }
  if (me.history.keepMs === 0) screen.note(noHistory(api.where));
  const { isTTY, columns, rows } = process.stdout;
  const now = Date.now();
  const options = isTTY
    ? { style: screen.style, columns, rows: rows - 1, now }
    : { style: screen.style, columns: Infinity, rows: Infinity, now };
  const sections = [
    questionSection(questions, options),
    workSection(calls, options),
    serverSection(servers),
    sessionSection(sessions),
  ];
  screen.printOwn(layOut(titleOf(me, api.where, now), sections, options).join('\n'));
  return RESULT;
}
