import type { Tokenizer } from "../src/chat/tokenizer.ts";
import { capabilities } from "../src/core/policy.ts";
import type { Sampler } from "../src/engines/engine.ts";

/**
 * A sampler that says what a script answers to the text of a context, token by token, for tests of what is between a program and a model. Of
 * several answers it says the first that a mask lets begin. The mask has to allow each token.
 * @param pauseMs between two tokens
 */
export function scriptedSampler(
  tokenizer: Tokenizer,
  script: (context: string) => string | readonly string[],
  pauseMs?: number,
): Sampler {
  return {
    info: { name: "scripted", parameters: 0, vocabularySize: tokenizer.size, maxLength: 4096, capabilities },
    weightVersion: 0,
    sample: async ({ context, stopTokens, maxTokens, onToken, mask }) => {
      const allowed = (token: number) =>
        mask === undefined || (((mask.next()[token >> 5] ?? 0) >>> (token & 31)) & 1) === 1 || mask.allows(token);
      const texts = [script(tokenizer.decode(context))].flat();
      const text = texts.find((each) => allowed(tokenizer.encode(each)[0])) ?? texts[0];
      const all = [...tokenizer.encode(text), stopTokens[0]];
      const tokens = all.slice(0, maxTokens);
      for (const token of tokens) {
        if (!allowed(token))
          throw new Error(`the mask does not allow ${JSON.stringify(tokenizer.decode([token]))} of ${JSON.stringify(text)}`);
        mask?.accept(token);
        onToken?.({ token, logprob: 0 });
        await new Promise((go) => (pauseMs === undefined ? setImmediate(go) : setTimeout(go, pauseMs)));
      }
      const zeros = tokens.map(() => 0);
      return {
        tokens,
        logprobs: zeros,
        entropies: zeros,
        finish: tokens.length < all.length ? "length" : "stop",
        weightVersion: 0,
      };
    },
    release: () => {},
  };
}
