import { expect, test } from "vitest";
import { actsOf } from "../../../src/core/acts.ts";
import { deviceOf, tinkerEngine } from "./kind.ts";
import { linearForms } from "./linear-form.ts";
import type { Findings } from "./probe.ts";

const findings: Findings = {
  ...{ form: linearForms[0] as Findings["form"], rejected: [], adam: true, clips: true, logprobGap: 0.00123 },
  ...{ bfloat16: false, topLogprobs: true, wideSeeds: true },
};

test("what a server can do before it was probed: what all can, and what some can", () => {
  const settings = tinkerEngine.settings.parse({ url: "http://127.0.0.1:8000", model: "m" });
  expect(settings).toEqual({ url: "http://127.0.0.1:8000", model: "m", rank: 32, maxLength: 32_768, inFlight: 64 });
  expect(tinkerEngine.capabilities(settings)).toEqual({
    certain: ["reference", "exact-state"],
    possible: ["reference", "adam-settings", "exact-state", "gradient-accumulation", "gradient-clipping", "top-logprobs"],
  });
});

test("the server is contacted, and sent the key", () => {
  const settings = tinkerEngine.settings.parse({ url: "http://x", model: "m" });
  expect(actsOf(tinkerEngine.settings, settings)).toEqual([
    { kind: "connects", what: "http://x" },
    { kind: "sends", what: "TINKER_API_KEY" },
  ]);
});

test("settings of Adam are whole, and bounded", () => {
  const parse = (more: object) => tinkerEngine.settings.safeParse({ url: "http://x", model: "m", ...more });
  expect(parse({ adam: {} }).data?.adam).toEqual({ beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 });
  for (const wrong of [{ beta1: 1 }, { beta2: -0.1 }, { epsilon: 0 }, { weightDecay: -1 }, { gamma: 1 }])
    expect(parse({ adam: wrong }).success).toBe(false);
  for (const wrong of [{ url: "ftp://x" }, { model: "" }, { rank: -1 }, { maxLength: 1 }, { inFlight: 0 }, { key: "x" }])
    expect(parse(wrong).success).toBe(false);
  expect(parse({ rank: 0 }).success).toBe(true);
});

test("the line about the device says what was found", () => {
  expect(deviceOf("http://x", findings)).toBe(
    "Tinker server http://x: cross_entropy with signed weights, sampler within 1.2e-3 nats of the trainer",
  );
  expect(deviceOf("http://x", { ...findings, bfloat16: true, adam: false })).toBe(
    "Tinker server http://x: cross_entropy with signed weights, sampler within 1.2e-3 nats of the trainer, log-probs in bfloat16, " +
      "with Adam's settings and clipping of its own",
  );
});
