/** All hub tools with their schemas. Loaded on first use, because zod costs time and memory. */

import * as z from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { CoreSettings } from '../../../core/settings.ts';
import { isBigNumber, nearestNumber } from '../../../lib/exact-json.ts';
import { isObject } from '../../../lib/values.ts';
import { mistakes } from '../mistakes.ts';
import type { HubTool } from '../tool.ts';
import { activityTools } from './activity.ts';
import { elicitationTools } from './elicitation.ts';
import { executionTools } from './execution.ts';
import { notificationTools } from './notifications.ts';
import { promptTools } from './prompts.ts';
import { resourceTools } from './resources.ts';
import { samplingTools } from './sampling.ts';
import { serverTools } from './servers.ts';
import { taskTools } from './tasks.ts';

export const HUB_TOOLS: readonly HubTool[] = [
  ...serverTools,
  ...executionTools,
  ...resourceTools,
  ...promptTools,
  ...notificationTools,
  ...samplingTools,
  ...elicitationTools,
  ...taskTools,
  ...activityTools,
];

export const TOOLS_BY_NAME: ReadonlyMap<string, HubTool> = new Map(HUB_TOOLS.map((each) => [each.name, each]));

/** The tools for slow calls and questions; the others manage servers. */
export const HELPER_TOOLS: readonly HubTool[] = [...samplingTools, ...elicitationTools, ...taskTools, ...activityTools];

/** The arguments with their defaults. */
export function checked(found: HubTool, given: unknown): unknown {
  if (found.areValid?.(given)) return given;
  const parsed = found.input.safeParse(withoutBigNumbers(given));
  if (parsed.success) return parsed.data;
  throw new GatewayError('TOOL_ERR_INVALID_ARGUMENT', `${found.name}: ${mistakes(found, given, parsed.error)}`);
}

/** Converts the hub's own arguments, which are small numbers; nested arguments of a server's tool stay unchanged. */
function withoutBigNumbers(given: unknown): unknown {
  if (!isObject(given) || !Object.values(given).some(isBigNumber)) return given;
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, nearestNumber(value) ?? value]));
}

/** A tool as `tools/list` shows it. */
export function describeTool(
  { name, description, input, annotations, defaults }: HubTool,
  settings: CoreSettings,
): Record<string, unknown> {
  const { $schema: _dialect, properties = {}, ...schema } = z.toJSONSchema(input, { io: 'input' });
  for (const [key, value] of Object.entries(defaults?.(settings) ?? {})) {
    properties[key] = { ...(properties[key] as object), default: value };
  }
  return { name, description, inputSchema: { ...schema, properties }, annotations };
}
