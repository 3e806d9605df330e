/** Starts the page. The key of a launch link is exchanged for a cookie, and removed from the address at once. */

import { render } from 'preact';
import { App } from './app.tsx';
import { signIn, start } from './state/live.ts';
import { route } from './state/route.ts';
import { parseRoute } from './route.ts';
import { messageOf } from './wire/api.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('The page has no place for the console.');

const [, key, rest] = /^#key=([^&]+)(?:&to=(.*))?$/.exec(location.hash) ?? [];
let problem: string | undefined;
if (key !== undefined) {
  const to = `#/${(rest ?? 'inbox').replace(/^[#/]*/, '')}`;
  history.replaceState(undefined, '', to);
  route.set(parseRoute(to));
  try {
    await signIn(decodeURIComponent(key));
  } catch (error) {
    problem = messageOf(error);
    // An old link does not matter to somebody who is still signed in.
    await start();
  }
} else {
  await start();
}
render(<App problem={problem} />, root);
