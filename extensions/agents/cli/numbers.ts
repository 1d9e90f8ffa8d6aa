import { ConfigError } from "../../../src/core/errors.ts";

/** @throws ConfigError where a flag's text is no whole number from 1 on */
export function wholeNumber(flag: string, text: string): number;
export function wholeNumber(flag: string, text: string | undefined): number | undefined;
export function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new ConfigError(flag, text, { expected: "a whole number from 1 on" });
}

/** @throws ConfigError where a flag's text is no finite number above 0 */
export function positiveNumber(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new ConfigError(flag, text, { expected: "a number above 0" });
}
