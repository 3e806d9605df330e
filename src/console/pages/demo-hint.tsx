/** In an empty list: how to see something. */

import type { JSX } from 'preact';
import { hrefOf } from '../route.ts';
import { useWatched } from '../state/collection.ts';
import { servers } from '../state/live.ts';
import { serverKey } from '../state/server-key.ts';
import { Icon } from '../ui/icons.tsx';
import { Command } from '../ui/parts.tsx';

export function DemoHint({ tool, text }: { tool: string; text: string }): JSX.Element {
  useWatched(servers);
  if (servers.get(serverKey({ name: 'demo' })) !== undefined) {
    return (
      <p>
        <a class="button" href={hrefOf('servers', 'demo', { tool })}>
          <Icon name="play" /> {text}
        </a>
      </p>
    );
  }
  return (
    <p>
      To see one now, try a tool of your own on the <a href={hrefOf('servers')}>Servers</a> page. A gateway without a
      config file has a demo server: <Command text="npm start" />
    </p>
  );
}
