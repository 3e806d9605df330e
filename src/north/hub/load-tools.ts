export type HubTools = typeof import('./tools/all.ts');

let loaded: HubTools | undefined;

/** The hub tools, if they are loaded. */
export const loadedTools = (): HubTools | undefined => loaded;

export async function loadTools(): Promise<HubTools> {
  loaded ??= await import('./tools/all.ts');
  return loaded;
}
