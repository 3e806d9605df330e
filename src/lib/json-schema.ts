/** What is wrong with `value` by a JSON schema, or `undefined` if nothing is. The validator is loaded on first use. */
export async function schemaMistake(schema: Record<string, unknown>, value: unknown): Promise<string | undefined> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/server/validators/ajv');
  const result = new AjvJsonSchemaValidator().getValidator(schema)(value);
  return result.valid ? undefined : result.errorMessage;
}
