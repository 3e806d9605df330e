import type { Option, Prompter } from './prompter.ts';

export type Decision = 'cancel' | 'leave' | 'go on';

/** Whether the work can continue without the command. */
type Leaving = 'possible' | 'uncertain' | 'impossible';

/** What Ctrl-C can stop. */
export type Stoppable =
  /** A task that the command only watches. */
  { kind: 'task' } | { kind: 'call'; leaving: Leaving; why?: string };

/** Ctrl-C asks what to do; a second Ctrl-C takes the first choice. */
export async function whatNow(prompter: Prompter, stoppable: Stoppable, over: AbortSignal): Promise<Decision> {
  if (stoppable.kind === 'call' && stoppable.why !== undefined) await prompter.say(stoppable.why, 'info');
  const options = optionsFor(stoppable);
  const asked = await prompter.choose<Decision>(over, 'Stop?', options);
  switch (asked.kind) {
    case 'answered':
      return asked.value;
    case 'interrupted':
      return options[0].value;
    case 'escaped':
    case 'over':
      return 'go on';
  }
}

function optionsFor(stoppable: Stoppable): [Option<Decision>, ...Option<Decision>[]] {
  if (stoppable.kind === 'task') {
    return [
      { value: 'leave', label: 'Stop waiting', hint: 'the task continues; also Ctrl-C' },
      { value: 'cancel', label: 'Cancel the task' },
      { value: 'go on', label: 'Keep waiting', hint: 'also Esc' },
    ];
  }
  return [
    { value: 'cancel', label: 'Cancel it', hint: 'also Ctrl-C' },
    ...LEAVE[stoppable.leaving],
    { value: 'go on', label: 'Continue', hint: 'also Esc' },
  ];
}

const LEAVE: Record<Leaving, Option<Decision>[]> = {
  possible: [{ value: 'leave', label: 'Leave it running', hint: 'the server keeps it; you can return to it later' }],
  uncertain: [{ value: 'leave', label: 'Leave it', hint: 'the server is unreachable, and may have lost it' }],
  impossible: [],
};
