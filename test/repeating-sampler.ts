import type { ActionInContext } from "../src/core/trajectory.ts";
import type { Sampler } from "../src/engines/engine.ts";

/** A sampler that writes the actions of a demonstration. */
export function repeating(samples: readonly ActionInContext[]): Sampler {
  let turn = 0;
  return {
    info: { name: "repeating", parameters: 0, vocabularySize: 768, maxLength: 4096, capabilities: [] },
    weightVersion: 0,
    async sample() {
      const tokens = samples[turn++].action;
      const each = tokens.map(() => 0);
      return { tokens, logprobs: each, modelLogprobs: each, entropies: each, finish: "stop", weightVersion: 0 };
    },
    release: () => {},
  };
}
