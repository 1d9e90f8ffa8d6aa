import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import type { Policy } from "../../core/policy.ts";
import { interruptible } from "./interruptible.ts";

/** A policy whose passes never end by themselves. */
function endless() {
  let finish: () => void = () => {};
  const pass = () => new Promise<number[][]>((resolve) => (finish = () => resolve([])));
  const report = { gradientNorm: 1, learningRate: 1 };
  const policy: Policy = { logprobs: pass, referenceLogprobs: pass, forwardBackward: pass, step: async () => report };
  return { policy, finish: () => finish() };
}

test("an abort ends a pass that is under way at once, and says when the pass itself has ended", async () => {
  const { policy, finish } = endless();
  const stop = new AbortController();
  const watched = interruptible(policy, stop.signal);
  const pass = watched.policy.forwardBackward([], []);
  stop.abort(new Error("stopped"));
  await expect(pass).rejects.toThrow("stopped");
  let settled = false;
  const waiting = watched.settled().then(() => (settled = true));
  await Promise.resolve();
  expect(settled).toBe(false);
  finish();
  await waiting;
  expect(() => watched.policy.step()).toThrow("stopped");
});

test("after the first optimiser step an update runs to its end: its weights belong to no step until then", async () => {
  const { policy, finish } = endless();
  const stop = new AbortController();
  const watched = interruptible(policy, stop.signal);
  await watched.policy.step();
  stop.abort();
  const pass = watched.policy.logprobs([]);
  finish();
  expect(await pass).toEqual([]);
});

test("where a restore point leads back over it, a step ends no call's answer to an abort", async () => {
  const stop = new AbortController();
  const restore = vi.fn(async () => {});
  const watched = interruptible(endless().policy, stop.signal, { overSteps: true, restore });
  await watched.policy.step();
  const pass = watched.policy.logprobs([]);
  stop.abort(new Error("stopped"));
  await expect(pass).rejects.toThrow("stopped");
  expect(() => watched.policy.step()).toThrow("stopped");
  watched.settled();
  expect(restore).toHaveBeenCalledOnce();
});

test("a pass that is sent with its step is not left once it is sent", async () => {
  const { policy, finish } = endless();
  const stop = new AbortController();
  const report = { gradientNorm: 1, learningRate: 1 };
  const passAndStep: Policy["passAndStep"] = async (samples) => ({ logprobs: await policy.logprobs(samples), report });
  const watched = interruptible({ ...policy, passAndStep }, stop.signal);
  const together = watched.policy.passAndStep?.([], []);
  stop.abort(new Error("stopped"));
  finish();
  expect(await together).toEqual({ logprobs: [], report });
  const late = interruptible({ ...policy, passAndStep }, stop.signal);
  await expect(late.policy.passAndStep?.([], [])).rejects.toThrow("stopped");
});

test("a pass that ends leaves no listener behind", async () => {
  const stop = new AbortController();
  const policy: Policy = { ...endless().policy, logprobs: async () => [] };
  const watched = interruptible(policy, stop.signal);
  for (let i = 0; i < 20; i++) await watched.policy.logprobs([]);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
});
