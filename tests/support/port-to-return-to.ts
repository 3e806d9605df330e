/**
 * A port for what will be stopped and started again on the same one: below those that systems give to outgoing
 * connections and to whoever binds port 0, so that none of these takes it in between. It may be in use.
 */
export function portToReturnTo(): number {
  return 20_000 + Math.floor(Math.random() * 12_000);
}
