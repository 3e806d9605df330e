/** The error for a request whose gateway died before answering; it tells the client how to find its work. */
export function lostRequest(what: string, hasHubTools: boolean): string {
  const tasks = hasHubTools
    ? 'list_tasks shows whether it became a task'
    : 'repeat it unless tasks/list shows its task';
  return `${what} while this request was open; ${tasks}`;
}
