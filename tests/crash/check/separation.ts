/** Nothing of one client is told to another. */
import type { Answered } from './stories.ts';

export function checkSeparation(answered: readonly Answered[]): string[] {
  const owners = new Map<string, string>();
  return answered.flatMap(({ client, told, tool }) =>
    [...told.tasks, ...told.questions, ...told.events].flatMap(({ id }) => {
      const owner = owners.get(id) ?? client;
      owners.set(id, owner);
      return owner === client ? [] : [`${client} was told by ${tool} of ${id}, which belongs to ${owner}`];
    }),
  );
}
