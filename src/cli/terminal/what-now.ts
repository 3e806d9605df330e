import type { Option, Prompter } from './prompter.ts';

export type Decision = 'cancel' | 'leave' | 'go on';

/** What can be stopped, and what becomes of it when nobody waits for it any more. */
export type Stoppable =
  /** A task that is only looked at. */
  { kind: 'task' } | { kind: 'call'; leaving: 'possible' | 'uncertain' | 'impossible'; why?: string };

/** Ctrl-C while something runs is a question. A second Ctrl-C answers it, with the choice that stands first. */
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
      { value: 'leave', label: 'Stop waiting', hint: 'the task goes on; also Ctrl-C' },
      { value: 'cancel', label: 'Cancel the task' },
      { value: 'go on', label: 'Go on waiting', hint: 'also Esc' },
    ];
  }
  return [
    { value: 'cancel', label: 'Cancel it', hint: 'also Ctrl-C' },
    ...leaveOptions(stoppable.leaving),
    { value: 'go on', label: 'Go on', hint: 'also Esc' },
  ];
}

function leaveOptions(leaving: 'possible' | 'uncertain' | 'impossible'): Option<Decision>[] {
  switch (leaving) {
    case 'possible':
      return [{ value: 'leave', label: 'Leave it running', hint: 'the server keeps it; you can come back' }];
    case 'uncertain':
      return [{ value: 'leave', label: 'Leave it', hint: 'not known whether the server, now away, still has it' }];
    case 'impossible':
      return [];
  }
}
