import type { ToolCall } from "../../src/core/messages.ts";

/** A tool call, answered by the tool's result, or words to the user, answered by the user's. */
export type Step = ToolCall | string;
/** A scripted way of solving a request: steps, and at the end the closing words. */
export type Plan<Result = string> = Generator<Step, Result, string>;

/** Ends a request with these words from inside a sub-plan. */
class Closing {
  readonly words: string;
  constructor(words: string) {
    this.words = words;
  }
}

/** Ends the request that is being solved. @param words the closing words */
export function close(words: string): never {
  throw new Closing(words);
}

/** A plan whose early closings are its result. */
export function* closed(plan: Plan): Plan {
  try {
    return yield* plan;
  } catch (error) {
    if (error instanceof Closing) return error.words;
    throw error;
  }
}
