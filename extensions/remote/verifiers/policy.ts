import type { TokenPolicy } from "../../../src/environments/environment.ts";
import { HttpError } from "../../http/http-error.ts";
import type { InferenceModel } from "../../inference/model.ts";

/**
 * The policy of one episode, as the environment's program asks for it. What would make the recorded log-probs those of another distribution
 * is refused: other sampling settings than the run's, and a tokenizer under which the task's own prompt cannot be read.
 * @param prompt of the task, where it is a text
 */
export function inferenceModel(policy: TokenPolicy, prompt: unknown): InferenceModel {
  let first = true;
  return {
    maxLength: policy.maxLength,
    vocabularySize: policy.vocabularySize,
    sample: ({ context, maxTokens = policy.maxTokens, stopTokens, stopStrings, ...settings }) => {
      for (const name of ["temperature", "topP", "topK"] as const) {
        const value = settings[name];
        if (value !== undefined && value !== policy[name])
          throw new HttpError(422, `sampling_params.${name}`, value, { expected: `${policy[name]}, the run's own` });
      }
      if (first && typeof prompt === "string" && prompt.trim() !== "") {
        const squeezed = (text: string) => text.replace(/\s+/g, "");
        if (!squeezed(policy.decode(context)).includes(squeezed(prompt)))
          throw new HttpError(422, "token_ids", policy.decode(context).slice(0, 100), {
            expected: "the task's prompt, read by this model's tokenizer",
            hint: "environment.settings.tokenizer is another one than the model's.",
          });
      }
      first = false;
      return policy.sample({ context, maxTokens, stopTokens, stopStrings });
    },
  };
}
