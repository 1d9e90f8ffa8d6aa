import { afterEach, expect, test, vi } from "vitest";
import type { Call } from "./call.ts";
import { TinkerError } from "./errors.ts";
import { type Connection, Heartbeat, untilWritten } from "./session.ts";
import type { Transport } from "./transport.ts";

afterEach(() => void vi.useRealTimers());

/** Answers by these statuses, the last one for ever; an error is thrown. */
function transportOf(...answers: (number | TinkerError)[]) {
  const calls: Call[] = [];
  const send = async (call: Call) => {
    calls.push(call);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (typeof answer !== "number") throw answer;
    return { status: answer };
  };
  return { calls, transport: { send } as unknown as Transport };
}
const failure = (status: number | undefined) =>
  new TinkerError("x", "no", { kind: "lost", retry: "later", ...(status && { status }) });

test("a checkpoint is asked for every 200 ms until it is written", async () => {
  vi.useFakeTimers();
  const { calls, transport } = transportOf(425, 425, 200);
  const { signal } = new AbortController();
  let written = false;
  const waiting = untilWritten({ transport, resultTimeoutMs: 1000 } as Connection, "tinker://a", signal).then(() => {
    written = true;
  });
  await vi.advanceTimersByTimeAsync(399);
  expect([calls.length, written]).toEqual([2, false]);
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  const call = { path: "weights_info", body: { tinker_path: "tinker://a" }, repeatable: true, expected: [425], signal };
  expect(calls).toEqual([call, call, call]);
});

test("a checkpoint that is not written in time leaves the model in doubt", async () => {
  vi.useFakeTimers();
  const { calls, transport } = transportOf(425);
  const waiting = untilWritten({ transport, resultTimeoutMs: 1000 } as Connection, "tinker://a").catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1200);
  expect(await waiting).toMatchObject({
    ...{ subject: "checkpoint tinker://a", value: "not written", kind: "timeout", retry: "from-checkpoint" },
  });
  // At 0, 200, …, 1000 and 1200 ms.
  expect(calls).toHaveLength(7);
});

test("a heart beats at once and then in its time, until it is stopped", async () => {
  vi.useFakeTimers();
  const { calls, transport } = transportOf(200);
  const heart = new Heartbeat(transport, "s", 100);
  await vi.advanceTimersByTimeAsync(250);
  const beat = {
    ...{ path: "session_heartbeat", body: { session_id: "s", type: "session_heartbeat" }, repeatable: true, patienceMs: 0 },
  };
  expect(calls).toEqual([beat, beat, beat]);
  heart.stop();
  await vi.advanceTimersByTimeAsync(250);
  expect([calls.length, heart.ended]).toEqual([3, undefined]);
});

test("the server alone ends a session: what cannot be reached is asked again", async () => {
  vi.useFakeTimers();
  const [gone, over] = [failure(undefined), failure(410)];
  const { calls, transport } = transportOf(gone, failure(500), over, 200);
  const heart = new Heartbeat(transport, "s", 100);
  await vi.advanceTimersByTimeAsync(100);
  expect(heart.ended).toBeUndefined();
  await vi.advanceTimersByTimeAsync(200);
  expect([calls.length, heart.ended]).toEqual([4, over]);
  heart.stop();
});
