import { Context } from "../../../src/core/context.ts";
import { EngineError } from "../../../src/core/errors.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";

/**
 * ONNX Runtime would count a negative id from the table's end, and cut off a fraction.
 * @throws EngineError naming the first id that a model of this vocabulary does not have
 */
export function requireTokens(tokens: Iterable<TokenId>, vocabSize: number): void {
  for (const token of tokens) {
    if (Number.isInteger(token) && token >= 0 && token < vocabSize) continue;
    throw new EngineError("token id", token, {
      expected: `0 to ${vocabSize - 1}`,
      hint: "The tokenizer does not belong to this model.",
    });
  }
}

/** Checks the ids of all samples, those of a context's node once. @throws EngineError as `requireTokens` */
export function requireSampleTokens(samples: readonly ActionInContext[], vocabSize: number): void {
  const checked = new Set<Context>();
  for (const { context, action } of samples) {
    requireTokens(action, vocabSize);
    if (!(context instanceof Context)) requireTokens(context, vocabSize);
    else
      for (let node: Context | undefined = context; node !== undefined && !checked.has(node); node = node.parent) {
        checked.add(node);
        requireTokens(node.ids, vocabSize);
      }
  }
}
