import { EngineError } from "../../../core/errors.ts";
import type { TokenId } from "../../../core/trajectory.ts";

/**
 * ONNX Runtime would count a negative id from the table's end, and cut off a fraction.
 * @throws EngineError naming the first id that a model of this vocabulary does not have
 */
export function requireTokens(tokens: readonly TokenId[], vocabSize: number): void {
  for (const token of tokens) {
    if (Number.isInteger(token) && token >= 0 && token < vocabSize) continue;
    throw new EngineError("token id", token, {
      expected: `0 to ${vocabSize - 1}`,
      hint: "The tokenizer does not belong to this model.",
    });
  }
}
