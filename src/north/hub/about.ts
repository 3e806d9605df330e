/** The parts of the hub that are known before its tools are loaded. */

/** The tools for slow calls and questions; the others manage servers. */
export const HELPER_NAMES = [
  'get_sampling_requests',
  'respond_to_sampling',
  'get_elicitations',
  'respond_to_elicitation',
  'list_tasks',
  'get_task',
  'get_task_result',
  'cancel_task',
  'await_activity',
] as const;

const helperNames: ReadonlySet<unknown> = new Set(HELPER_NAMES);

export const isHelperTool = (name: unknown): boolean => helperNames.has(name);

export const HUB_CAPABILITIES = { tools: {}, resources: {} };

export const TASKS_EXPLAINED =
  'A call that is slow or needs input continues as a task. When a reply has pending_client_action, ask the user (or ' +
  'answer the sampling request yourself), respond, then use await_activity and get_task_result.';

export const HUB_INSTRUCTIONS = `Gateway to other MCP servers: find their tools with list_tools, call them with execute_tool. ${TASKS_EXPLAINED}`;
