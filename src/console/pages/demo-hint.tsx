/** In an empty list: what to do to see something. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hrefOf } from '../route.ts';
import { note } from '../state/announce.ts';
import { calls, phase, readServers } from '../state/live.ts';
import { go } from '../state/route.ts';
import { Icon } from '../ui/icons.tsx';
import { Command } from '../ui/parts.tsx';
import { post } from '../wire/api.ts';
import type { Call } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';

export function DemoHint(): JSX.Element {
  const now = phase.get();
  if (now.name === 'ready' && now.me.demo === true) return <StartDemo />;
  return (
    <p>
      To see it now, try a tool on the <a href={hrefOf('servers')}>Servers</a> page, or watch a demonstration in a
      terminal: <Command text="meanwhile demo" />
    </p>
  );
}

function StartDemo(): JSX.Element {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const call = await post<Call>('/api/v1/demo', {});
      calls.put(call);
      void readServers();
      note(`The demo runs. Its server is called ${call.server}; remove it on its page.`);
      go(hrefOf('inbox'));
    } catch (error) {
      note(messageOf(error), 'problem');
    }
    setBusy(false);
  };
  return (
    <div class="start-demo">
      <button type="button" class="primary" disabled={busy} onClick={() => void run()}>
        <Icon name="play" /> {busy ? 'Starting…' : 'Start the demo'}
      </button>
      <p class="light">Adds a small demo server that writes a slow report and asks you a question.</p>
    </div>
  );
}
