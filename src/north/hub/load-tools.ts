export type HubTools = typeof import('./tools/all.ts');

let loaded: HubTools | undefined;

/** The tools of the hub, if they are there already. */
export const loadedTools = (): HubTools | undefined => loaded;

export async function loadTools(): Promise<HubTools> {
  loaded ??= await import('./tools/all.ts');
  return loaded;
}
