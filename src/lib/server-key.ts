/** Clients of several principals may have added servers of the same name. */
export function serverKey({ name, principal = '' }: { name: string; principal?: string | undefined }): string {
  return `${principal}\n${name}`;
}
