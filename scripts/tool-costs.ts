import { fileSchema } from '../src/config/schema.ts';
import { describeTool, HUB_TOOLS } from '../src/north/hub/tools/all.ts';

export interface ToolCost {
  name: string;
  bytes: number;
  /** About what a model reads: four characters a token. */
  tokens: number;
}

/** What each tool of the hub adds to the answer of `tools/list`, which a client keeps in its model's context. */
export function toolCosts(): ToolCost[] {
  const { meanwhile: settings } = fileSchema.parse({});
  return HUB_TOOLS.map((tool) => {
    const text = JSON.stringify(describeTool(tool, settings));
    return { name: tool.name, bytes: Buffer.byteLength(text), tokens: Math.ceil(text.length / 4) };
  });
}

export function totalCost(costs: readonly ToolCost[]): ToolCost {
  const sum = (key: 'bytes' | 'tokens'): number => costs.reduce((total, each) => total + each[key], 0);
  return { name: 'total', bytes: sum('bytes'), tokens: sum('tokens') };
}
