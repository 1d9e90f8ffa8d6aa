import { ConfigError } from "../core/errors.ts";

/** @throws ConfigError where a flag's text is no whole number from `least` on */
export function wholeNumber(flag: string, text: string, least?: number): number;
export function wholeNumber(flag: string, text: string | undefined, least?: number): number | undefined;
export function wholeNumber(flag: string, text: string | undefined, least = 1): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text) && Number(text) >= least) return Number(text);
  throw new ConfigError(flag, text, { expected: `a whole number from ${least} on` });
}

/** @throws ConfigError where a flag's text is no finite number, or none above `above` */
export function numberOf(flag: string, text: string, above = Number.NEGATIVE_INFINITY): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(value) && value > above) return value;
  throw new ConfigError(flag, text, { expected: Number.isFinite(above) ? `a number above ${above}` : "a number" });
}
