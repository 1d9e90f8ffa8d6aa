import { z } from "zod";
import { acts } from "../../../src/core/acts.ts";

/** A Tinker server: the hosted service, SkyRL or TuFT. Its key is in TINKER_API_KEY. */
export const tinkerSettings = z.strictObject({
  url: acts.address(z.url({ protocol: /^https?$/ }), () => "TINKER_API_KEY").describe("address of the server, without `/api/v1`"),
  model: z.string().min(1).describe("name of the base model on the server"),
  rank: z.int().min(0).default(32).describe("of the LoRA adapter; 0 trains the model itself, where a server can"),
  maxLength: z.int().min(2).default(32_768).describe("longest sequence in tokens, if the server does not report it"),
  adam: z
    .strictObject({
      beta1: z.number().min(0).lt(1).default(0.9),
      beta2: z.number().min(0).lt(1).default(0.999),
      epsilon: z.number().positive().default(1e-8),
      weightDecay: z.number().min(0).default(0.01),
    })
    .optional()
    .describe(
      "`{ beta1, beta2, epsilon, weightDecay }` with which a server was started that takes none from requests; SkyRL 0.4.0's if omitted. `optimizer` must equal them",
    ),
  inFlight: z.int().min(1).default(64).describe("samples in flight"),
});
