import { z } from "zod";
import { acts } from "../../../src/core/acts.ts";

/** A Tinker server: the hosted service, SkyRL, TuFT, or `retrograde-rl serve --tinker`. Its key is in TINKER_API_KEY. */
export const tinkerSettings = z.strictObject({
  /** Without /api/v1. */
  url: acts.address(z.url({ protocol: /^https?$/ }), () => "TINKER_API_KEY"),
  /** Name of the base model there. Its tokenizer is read from the setting `model`. */
  model: z.string().min(1),
  /** The rank of the LoRA adapter. 0 trains the model itself, where a server can. */
  rank: z.int().min(0).default(32),
  /** Longest sequence in tokens, if the server does not say. */
  maxLength: z.int().min(2).default(32_768),
  /** Adam's settings of a server that takes none from requests, as it was started. Default: those of SkyRL 0.4.0. */
  adam: z
    .strictObject({
      beta1: z.number().min(0).lt(1).default(0.9),
      beta2: z.number().min(0).lt(1).default(0.999),
      epsilon: z.number().positive().default(1e-8),
      weightDecay: z.number().min(0).default(0.01),
    })
    .optional(),
  /** Samples in flight at once. */
  inFlight: z.int().min(1).default(64),
});

export type TinkerSettings = z.output<typeof tinkerSettings>;
