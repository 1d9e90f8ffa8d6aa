import { z } from "zod";
import { ConfigError } from "../../core/errors.ts";
import type { EvaluationRecord } from "../../runs/records.ts";

/** For a million tokens. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  readonly currency: string;
}

/** Reads the prices of a flag. @throws ConfigError for another text */
export function pricesOf(text: string, flag: string): Prices {
  const [input, output, currency = "USD", ...more] = text.split(",").map((part) => part.trim());
  const price = (part: string | undefined) => (part !== undefined && /^\d+(\.\d+)?$/.test(part) ? Number(part) : undefined);
  const [ofInput, ofOutput] = [price(input), price(output)];
  if (ofInput === undefined || ofOutput === undefined || currency === "" || more.length > 0)
    throw new ConfigError(flag, text, {
      expected: 'the prices of a million prompt and completion tokens, such as "0.4,1.6" or "0.4,1.6,EUR"',
    });
  return { input: ofInput, output: ofOutput, currency };
}

export const costSchema = z.object({
  currency: z.string(),
  /** For a million tokens. */
  input: z.number(),
  output: z.number(),
  /** The cost of all episodes. Requests that failed or were lost are not in it. */
  total: z.number(),
  /** Answers whose tokens the server did not report: the total lacks them. */
  unreported: z.int(),
});

/** Computes what the tokens of evaluations cost. */
export function costOf(
  evaluations: readonly EvaluationRecord[],
  { input, output, currency }: Prices,
): z.infer<typeof costSchema> {
  const sum = (of: (usage: NonNullable<EvaluationRecord["usage"]>) => number) =>
    evaluations.reduce((total, { usage }) => total + (usage === undefined ? 0 : of(usage)), 0);
  const [prompt, completion] = [sum(({ promptTokens }) => promptTokens), sum(({ completionTokens }) => completionTokens)];
  return {
    ...{ currency, input, output },
    total: (prompt * input + completion * output) / 1e6,
    unreported: sum(({ unreported }) => unreported),
  };
}

export const judgeCostSchema = costSchema.omit({ unreported: true });

/** The judge's tokens of an evaluation. One ledger covers all decodings, so the last record has the total. */
export function judgeUsage(
  evaluations: readonly EvaluationRecord[],
): NonNullable<EvaluationRecord["judged"]>["usage"] | undefined {
  return evaluations.findLast(({ judged }) => judged !== undefined)?.judged?.usage;
}

/** Computes what a judge's tokens cost. Undefined if there was no judge. */
export function judgeCostOf(
  evaluations: readonly EvaluationRecord[],
  { input, output, currency }: Prices,
): z.infer<typeof judgeCostSchema> | undefined {
  const usage = judgeUsage(evaluations);
  if (usage === undefined) return undefined;
  return { currency, input, output, total: (usage.promptTokens * input + usage.completionTokens * output) / 1e6 };
}
