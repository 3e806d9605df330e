/** `meanwhile/client`: a client for MCP servers whose calls may take long and may ask. */

export type { ServerInfo } from '../core/ports/connection.ts';
export type { CommandServerConfig, HttpServerConfig, ServerConfig } from '../core/ports/server-config.ts';
export { TaskClientError, type FailureKind } from './task-client-error.ts';
export { TaskClient, type TaskClientOptions } from './task-client.ts';
export type * from './types.ts';
