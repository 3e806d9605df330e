/** Prints what `tools/list` costs, the dearest tool first. */
export {};
