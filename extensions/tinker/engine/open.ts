import type { TokenId } from "../../../src/core/trajectory.ts";
import type { RemoteEngine } from "../../../src/sdk/engine.ts";
import { tinkerCapabilities } from "./capabilities.ts";
import { createTinkerEngine } from "./engine.ts";

/** The engine on a Tinker server, as a configuration chooses it. */
export const tinkerEngine: RemoteEngine = {
  certain: tinkerCapabilities({ accumulates: false, adam: false, clips: false, topLogprobs: false }),
  possible: tinkerCapabilities({ accumulates: true, adam: true, clips: true, topLogprobs: true }),
  async open({ url, model, rank, maxLength, inFlight, adam }, { tokenizer }, { seed = 0 }) {
    const engine = await createTinkerEngine({
      ...{ baseUrl: url, model, rank, maxLength, inFlight, seed, tags: ["retrograde"] },
      vocabularySize: tokenizer.size,
      fixedAdam: adam,
      decode: (tokens: readonly TokenId[]) => tokenizer.decode(tokens),
    });
    const { form, logprobGap, bfloat16 } = engine.findings;
    const gap = logprobGap.toExponential(1);
    const rounded = bfloat16 ? ", log-probs in bfloat16" : "";
    const own = engine.findings.adam ? "" : ", with Adam's settings and clipping of its own";
    return { engine, device: `Tinker server ${url}: ${form.name}, sampler within ${gap} nats of the trainer${rounded}${own}` };
  },
};
