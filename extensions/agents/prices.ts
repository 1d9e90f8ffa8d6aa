import { ConfigError } from "../../src/core/errors.ts";

/** For a million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly currency: string;
}

/** Reads the prices of a flag. @throws ConfigError for another text */
export function pricesOf(text: string, flag: string): Prices {
  const found = /^ *(\d+(?:\.\d+)?) *, *(\d+(?:\.\d+)?) *(?:, *([^,]*[^, ]) *)?$/.exec(text);
  if (found === null)
    throw new ConfigError(flag, text, {
      expected: 'the prices of a million prompt and completion tokens, such as "0.4,1.6" or "0.4,1.6,EUR"',
    });
  const [, input, output, currency = "USD"] = found;
  return { input: Number(input), output: Number(output), currency };
}

export function costText({ total, currency }: { readonly total: number; readonly currency: string }): string {
  return `${total.toFixed(total < 1 ? 4 : 2)} ${currency}`;
}
