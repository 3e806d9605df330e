export async function demoServer(): Promise<number> {
  return 0;
}
