import { expect, test } from "vitest";
import type { Policy } from "../../core/policy.ts";
import { interruptible } from "./interruptible.ts";
import { remoteTiming } from "./remote-timing.ts";

const report = { gradientNorm: 1, learningRate: 2 };

/** A policy whose passes wait until they are let go, and which notes its calls. */
function waiting() {
  const log: string[] = [];
  let go = () => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const pass = (name: string) => async () => {
    log.push(name);
    await gate;
    log.push(`${name} ends`);
    return [[1]];
  };
  const step = (name: string) => async () => {
    log.push(name);
    return report;
  };
  const policy: Policy = {
    ...{ logprobs: pass("logprobs"), referenceLogprobs: pass("reference"), forwardBackward: pass("pass"), step: step("step") },
    passAndStep: async () => {
      log.push("both");
      return { logprobs: [], report };
    },
    critic: { values: pass("values"), forwardBackward: pass("critic's pass"), step: step("critic's step") },
  };
  return { policy, log, go };
}

test("without a signal the policy is itself", async () => {
  const { policy } = waiting();
  const { policy: same, settled } = interruptible(policy, undefined);
  expect(same).toBe(policy);
  await settled();
  const bare = { ...policy, critic: undefined, passAndStep: undefined } as unknown as Policy;
  const wrapped = interruptible(bare, new AbortController().signal).policy;
  expect([wrapped.critic, wrapped.passAndStep]).toEqual([undefined, undefined]);
});

test("a pass ends for its caller when the signal is aborted, and is waited for in the end; the weights go back", async () => {
  const { policy, log, go } = waiting();
  const controller = new AbortController();
  const point = { overSteps: false, restore: async () => void log.push("restored") };
  const { policy: bound, settled } = interruptible(policy, controller.signal, point as never);
  const calls = [
    bound.logprobs([]),
    bound.referenceLogprobs([]),
    bound.critic?.values([]),
    bound.critic?.forwardBackward([], () => []),
  ];
  const last = bound.forwardBackward([], []);
  controller.abort(new Error("Ctrl-C"));
  for (const call of [...calls, last]) await expect(call).rejects.toThrow("Ctrl-C");
  expect(() => bound.step()).toThrow("Ctrl-C");
  expect(() => bound.critic?.step(1)).toThrow("Ctrl-C");
  await expect(bound.passAndStep?.([], [])).rejects.toThrow("Ctrl-C");
  await expect(bound.logprobs([])).rejects.toThrow("Ctrl-C");
  const settling = settled();
  go();
  await settling;
  expect(log).toEqual([
    ...["logprobs", "reference", "values", "critic's pass", "pass", "restored"],
    ...["logprobs ends", "reference ends", "values ends", "critic's pass ends", "pass ends"],
  ]);
});

test("after a step nothing is left half way, unless a restore point leads back over it", async () => {
  const play = async (overSteps: boolean | undefined) => {
    const { policy, log, go } = waiting();
    const controller = new AbortController();
    const point = overSteps === undefined ? undefined : { overSteps, restore: async () => {} };
    const { policy: bound } = interruptible(policy, controller.signal, point as never);
    expect(await bound.step()).toBe(report);
    controller.abort(new Error("Ctrl-C"));
    go();
    const outcome = await bound.logprobs([]).then(
      () => "done",
      (error: Error) => error.message,
    );
    return [outcome, ...log];
  };
  expect(await play(undefined)).toEqual(["done", "step", "logprobs", "logprobs ends"]);
  expect(await play(false)).toEqual(["done", "step", "logprobs", "logprobs ends"]);
  expect(await play(true)).toEqual(["Ctrl-C", "step"]);
});

test("what a step exchanged with servers is summed; an engine in this process exchanges nothing", () => {
  expect(remoteTiming([undefined, undefined])).toEqual({});
  const part = (n: number) => ({
    requests: n,
    waits: 2 * n,
    sentBytes: n * 2 ** 20,
    receivedBytes: n * 2 ** 19,
    sharedTokens: 3 * n,
  });
  expect(remoteTiming([part(1), undefined, part(2)] as never)).toEqual({
    ...{ requests: 3, serverWaits: 6, sentMb: 3, receivedMb: 1.5, sharedTokens: 9 },
  });
});
