import { exactNumber, type BigNumber } from '../exact-json.ts';

/** A number as people type it. */
export const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
export const WHOLE = /^[+-]?\d+$/;

/** A whole number with any number of digits. */
export const wholeNumber = (text: string): number | BigNumber => exactNumber(String(BigInt(text.replace('+', ''))));
