export interface ToolCost {
  name: string;
  bytes: number;
  /** About what a model reads: four characters a token. */
  tokens: number;
}
/** What each tool of the hub adds to the answer of `tools/list`, which a client keeps in its model's context. */
export declare function toolCosts(): ToolCost[];
export declare function totalCost(costs: readonly ToolCost[]): ToolCost;
