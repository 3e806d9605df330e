/** A program that does with its calls what the test says, when it says it. Whose a question is does not show. The test owns it. */
import type { CommandServerConfig } from '../../../../src/core/ports/server-config.ts';
import type { Json } from '../../../support/hub.ts';
import { soon } from '../../flows/watch.ts';
import { asking, legacy, programByHand, text, toolNamed, type Asker } from '../../native/by-hand.ts';

export const TOOL = 'work';

interface Begun {
  asker: Asker;
  progressToken: unknown;
  end: Json;
}

export interface Puppet {
  config: CommandServerConfig;
  /** Names of the calls that have reached it. */
  calls: string[];
  /** Once the call by that name has; a read goes by the URI of its resource. */
  begun(name: string): Promise<void>;
  /** Asks something for that call, without saying so; ends others in the same breath. */
  ask(name: string, message: string, ends?: string[]): void;
  /** What came back for a question. */
  answer(message: string): Promise<Json>;
  report(name: string, progress: number): void;
  end(name: string): void;
}

export async function puppet(): Promise<Puppet> {
  const calls: string[] = [];
  const open = new Map<string, Begun>();
  const named = (name: string): Begun => {
    const begun = open.get(name);
    if (begun === undefined) throw new Error(`no call '${name}'`);
    return begun;
  };
  const script = legacy(
    {
      'tools/list': (asker) => asker.reply({ tools: [toolNamed(TOOL, 'forbidden')] }),
      'tools/call': (asker, { arguments: args, _meta }) => {
        const { name } = args as { name: string };
        calls.push(name);
        const progressToken = (_meta as Json | undefined)?.['progressToken'];
        open.set(name, { asker, progressToken, end: text(`end of ${name}`) });
      },
      'resources/read': (asker, { uri }) => {
        const end = { contents: [{ uri, text: `content of ${String(uri)}` }] };
        open.set(String(uri), { asker, progressToken: undefined, end });
      },
    },
    { tasks: undefined, resources: {} },
  );
  const program = await programByHand(script);
  const answerTo = (message: string): Json | undefined =>
    program.heard.find(({ id, method }) => id === message && method === undefined);
  const endOf = (name: string): Json => named(name).asker.answer(named(name).end);
  return {
    config: program.config,
    calls,
    begun: async (name) => soon(() => open.has(name)).toBe(true),
    ask: (name, message, ends = []) => named(name).asker.say(asking(message, message), ...ends.map(endOf)),
    answer: async (message) => {
      await soon(() => answerTo(message)).toBeDefined();
      return answerTo(message) ?? {};
    },
    report: (name, progress) => {
      const { asker, progressToken } = named(name);
      asker.say({ method: 'notifications/progress', params: { progressToken, progress } });
    },
    end: (name) => named(name).asker.say(endOf(name)),
  };
}
