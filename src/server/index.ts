/** `meanwhile/server`: servers whose tools may take long and may ask, for clients of every kind. */

export { createTaskServer } from './task-server.ts';
export { createTaskController } from './task-controller.ts';
export { QuestionError } from './question-error.ts';
export type * from './types.ts';
export type { CallResult, Task, TaskError, TaskStatus } from '../core/task/task.ts';
export type {
  Answer,
  Interaction as Question,
  InteractionKind as QuestionKind,
} from '../core/interaction/interaction.ts';
