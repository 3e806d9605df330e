import type { Option, Prompter } from './prompter.ts';

export type Decision = 'cancel' | 'leave' | 'go on';

/** Ctrl-C while something runs is a question. A second Ctrl-C answers it. */
export async function whatNow(prompter: Prompter, canLeave: boolean, over: AbortSignal): Promise<Decision> {
  const leave: Option<Decision>[] = [
    { value: 'leave', label: 'Leave it running', hint: 'the server keeps it; you can come back' },
  ];
  const asked = await prompter.choose<Decision>(over, 'Stop?', [
    { value: 'cancel', label: 'Cancel it', hint: 'also Ctrl-C' },
    ...(canLeave ? leave : []),
    { value: 'go on', label: 'Go on', hint: 'also Esc' },
  ]);
  switch (asked.kind) {
    case 'said':
      return asked.value;
    case 'interrupted':
      return 'cancel';
    case 'escaped':
    case 'over':
      return 'go on';
  }
}
