/** Writes schema/config.schema.json from the schema in the code. */
export {};
