import { readFileSync } from 'node:fs';

/** What the suite asks and does not get, by the name of the scenario (`*` stands for the rest of it), and why. */
export interface Exceptions {
  /** Scenarios about something that Meanwhile does not do. */
  notApplicable: Record<string, string>;
  /** Scenarios that should pass one day. */
  gaps: Record<string, string>;
  /** Checks whose warnings say more about the machine than about the client. */
  loadDependent: Record<string, string>;
}

export function readExceptions(): Exceptions {
  return JSON.parse(readFileSync(new URL('client-exceptions.json', import.meta.url), 'utf8')) as Exceptions;
}

/** The entry that speaks of a scenario. */
export function entryFor(entries: Record<string, string>, scenario: string): string | undefined {
  return Object.keys(entries).find((name) => matches(name, scenario));
}

/** Entries that speak of no scenario there is. */
export function idleEntries({ notApplicable, gaps }: Exceptions, scenarios: readonly string[]): string[] {
  return [...Object.keys(notApplicable), ...Object.keys(gaps)].filter(
    (name) => !scenarios.some((scenario) => matches(name, scenario)),
  );
}

function matches(name: string, scenario: string): boolean {
  return name.endsWith('*') ? scenario.startsWith(name.slice(0, -1)) : scenario === name;
}
