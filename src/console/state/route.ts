import { Value } from './collection.ts';
import { parseRoute, type Route } from '../route.ts';

export const route = new Value<Route>(parseRoute(globalThis.location?.hash ?? ''));

/** Whether the keyboard asked for the item, so that the focus stays in the list. */
let fromList = false;
export const stayInList = (): boolean => fromList;

globalThis.addEventListener?.('hashchange', () => {
  route.set(parseRoute(location.hash));
  fromList = false;
});

/** Goes to another item of a list, without a step in the history of the browser and without moving the focus. */
export function show(href: string): void {
  history.replaceState(undefined, '', href);
  fromList = true;
  route.set(parseRoute(href));
}

export function go(href: string): void {
  location.hash = href;
}
