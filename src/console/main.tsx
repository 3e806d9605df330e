/** Starts the page. The key of a launch link is exchanged for a cookie, and removed from the address at once. */

import { render } from 'preact';
import { messageOf } from '../lib/error-message.ts';
import { App } from './app.tsx';
import { launchLink, pageToReturnTo } from './launch-link.ts';
import { phase, signIn, start } from './state/live.ts';
import { show } from './state/route.ts';

async function enter(): Promise<void> {
  const launched = launchLink(location.hash);
  if (launched === undefined) {
    await start();
    return;
  }
  show(launched.to);
  try {
    await signIn(launched.key, { fromLink: true });
  } catch (error) {
    // An old link does not matter to somebody who is still signed in.
    await start();
    if (phase.get().name === 'signed out') phase.set({ name: 'signed out', problem: messageOf(error) });
  }
}

// A link that is opened in a window with the console only changes the fragment.
addEventListener('hashchange', () => {
  if ((launchLink(location.hash) ?? pageToReturnTo(location.hash)) !== undefined) void enter();
});

const root = document.getElementById('app');
if (root === null) throw new Error('The page has no root element for the console.');
await enter();
render(<App />, root);
