import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';

/** For all servers and clients of SDK v1: each would make one of its own, which takes longer than a call. */
export const VALIDATOR = new AjvJsonSchemaValidator();
