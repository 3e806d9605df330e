/** How a scenario reaches the server of the suite: with our client, or through the whole gateway. */
export interface Way {
  listTools(): Promise<Tool[]>;
  /** The tool's result. Fails when there is none, or when it says that the tool failed. */
  callTool(name: string, args?: Json): Promise<Json>;
  listResources(): Promise<Json[]>;
  readResource(uri: string): Promise<void>;
  listPrompts(): Promise<Json[]>;
  getPrompt(name: string): Promise<void>;
  close(): Promise<void>;
}

export type Json = Record<string, unknown>;

export interface Tool {
  name: string;
  inputSchema: Json;
}

/** What happens between a question and its answer. */
export type BeforeAnswer = () => Promise<unknown>;
