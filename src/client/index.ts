/** `meanwhile/client`: a client for MCP servers whose calls may take long and may ask. */

export type { CommandServerConfig, HttpServerConfig, ServerConfig, ServerInfo } from '../core/ports.ts';
export { TaskClientError, type FailureKind } from './task-client-error.ts';
export { TaskClient, type TaskClientOptions } from './task-client.ts';
export type * from './types.ts';
