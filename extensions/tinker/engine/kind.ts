import type { TokenId } from "../../../src/core/trajectory.ts";
import type { EngineKind } from "../../../src/engines/registry.ts";
import { tinkerCapabilities } from "./capabilities.ts";
import type { Findings } from "./probe.ts";
import { tinkerSettings } from "./settings.ts";

const where = (has: boolean) => tinkerCapabilities({ accumulates: has, adam: has, clips: has, topLogprobs: has });
const [certain, possible] = [where(false), where(true)];

/** The engine on a Tinker server, as a configuration chooses it. */
export const tinkerEngine: EngineKind<typeof tinkerSettings> = {
  settings: tinkerSettings,
  capabilities: () => ({ certain, possible }),
  async open({ url, model, rank, maxLength, inFlight, adam }, { tokenizer }, { seed = 0 }) {
    const { createTinkerEngine } = await import("./engine.ts");
    const engine = await createTinkerEngine({
      ...{ baseUrl: url, model, rank, maxLength, inFlight, seed, tags: ["retrograde"] },
      vocabularySize: tokenizer.size,
      fixedAdam: adam,
      decode: (tokens: readonly TokenId[]) => tokenizer.decode(tokens),
    });
    return { engine, device: deviceOf(url, engine.findings) };
  },
};

/** Returns the line about a server and what was found there. */
export function deviceOf(url: string, { form, logprobGap, bfloat16, adam }: Findings): string {
  const rounded = bfloat16 ? ", log-probs in bfloat16" : "";
  const own = adam ? "" : ", with Adam's settings and clipping of its own";
  return `Tinker server ${url}: ${form.name}, sampler within ${logprobGap.toExponential(1)} nats of the trainer${rounded}${own}`;
}
