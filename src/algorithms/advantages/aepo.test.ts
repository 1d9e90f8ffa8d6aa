import { expect, test } from "vitest";
import { requireCapabilities } from "../../training/config/capabilities.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { entropyAware } from "./aepo.ts";

test("a token's advantage grows with its entropy over the batch, by hand", () => {
  // Entropies 0, 1, 2: mean 1, deviation 1. So 1 + a·(−1, 0, 1) with a = ½: ½, 1, 3/2.
  expect(entropyAware([[2, 2], [-4]], [[0, 1], [2]], 0.5)).toEqual([[1, 2], [-6]]);
  expect(entropyAware([[2, 2], [-4]], [[0, 1], [2]], 0)).toEqual([[2, 2], [-4]]);
  expect(entropyAware([[2], [-4]], [[3], [3]], 0.5)).toEqual([[2], [-4]]);
});

test("it needs an engine that reports the entropies of tokens, and a weight", () => {
  const advantage = { kind: "aepo", entropyWeight: 0.1 } as const;
  const config = resolveConfig({ environment: "office", algorithm: { kind: "custom", advantage, update: { kind: "ppu" } } });
  const engine = { name: "other", capabilities: ["exact-state", "full-precision-state", "gradient-clipping"] as const };
  expect(() => requireCapabilities(config, engine)).toThrow('an engine with the capability "token-entropies"');
  const unweighted = { kind: "custom", advantage: { kind: "aepo" }, update: { kind: "ppu" } } as never;
  expect(() => resolveConfig({ environment: "office", algorithm: unweighted })).toThrow(
    "algorithm.advantage.entropyWeight is missing",
  );
});
