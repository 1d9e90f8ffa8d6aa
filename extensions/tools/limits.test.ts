import { expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { callTool } from "../../src/rollouts/call-tool.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { withLimits } from "./limits.ts";

const { signal } = new AbortController();
const tool = (execute: Tool["execute"], more: Partial<Tool> = {}): Tool => ({
  name: "tool",
  description: "",
  parameters: { type: "object" },
  execute,
  ...more,
});
const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("no more calls run at the same time than the limit says, and all of them run", async () => {
  for (const concurrency of [1, 3]) {
    let running = 0;
    let most = 0;
    const limited = withLimits(
      tool(async ({ n }) => {
        most = Math.max(most, ++running);
        await later(2);
        running--;
        if (n === 4) throw new Error("four");
        return n;
      }),
      { concurrency },
    );
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => limited.execute({ n }, { signal: new AbortController().signal })),
    );
    expect(most).toBe(concurrency);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(11);
  }
});

test("a call that waits may leave, and the others keep their turns", async () => {
  const order: unknown[] = [];
  const limited = withLimits(
    tool(async ({ n }) => {
      order.push(n);
      await later(20);
    }),
    { concurrency: 1 },
  );
  const leaving = new AbortController();
  const first = limited.execute({ n: 1 }, { signal });
  const second = limited.execute({ n: 2 }, { signal: leaving.signal });
  const third = limited.execute({ n: 3 }, { signal });
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  await Promise.all([first, third]);
  expect(order).toEqual([1, 3]);
});

test("an idempotent tool is called again after a failure, as often as it says", async () => {
  let calls = 0;
  const failing = tool(
    () => {
      if (++calls < 3) throw new Error(`attempt ${calls}`);
      return "done";
    },
    { idempotent: true },
  );
  await expect(withLimits(failing, { retries: 1, retryDelayMs: 1 }).execute({}, { signal })).rejects.toThrow("attempt 2");
  calls = 0;
  expect(await withLimits(failing, { retries: 2, retryDelayMs: 1 }).execute({}, { signal })).toBe("done");
  expect(() =>
    withLimits(
      tool(() => 1),
      { retries: 1 },
    ),
  ).toThrow(ConfigError);
  expect(() =>
    withLimits(
      tool(() => 1),
      { retries: 0 },
    ),
  ).not.toThrow();
});

test("an attempt that takes too long is ended, and tried again", async () => {
  const aborted: boolean[] = [];
  const slow = tool(
    async (_, context) => {
      if (aborted.length === 1) return "in time";
      context.signal.addEventListener("abort", () => aborted.push(true));
      await later(10_000);
    },
    { idempotent: true },
  );
  expect(await withLimits(slow, { timeoutMs: 20, retries: 1, retryDelayMs: 1 }).execute({}, { signal })).toBe("in time");
  aborted.length = 0;
  const late = await callTool([withLimits(slow, { timeoutMs: 20 })], { name: "tool", arguments: {} });
  expect(late).toEqual({ valid: true, failure: "timeout", content: "Error: tool gave no answer within 20 ms" });
});

test("a cancelled call is not tried again, and waits for no delay", async () => {
  let calls = 0;
  const controller = new AbortController();
  const failing = tool(
    () => {
      calls++;
      throw new Error("no");
    },
    { idempotent: true },
  );
  const pending = withLimits(failing, { retries: 5, retryDelayMs: 60_000 }).execute({}, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("cancelled")), 10);
  await expect(pending).rejects.toThrow();
  expect(calls).toBe(1);
});

test("the time that the run gives the tool covers its attempts", () => {
  const idempotent = tool(() => 1, { idempotent: true, timeoutMs: 1000 });
  expect(withLimits(idempotent, { retries: 2, retryDelayMs: 100 }).timeoutMs).toBe(3 * 1000 + 300 + 1000);
  expect(withLimits(idempotent, { timeoutMs: 50, concurrency: 1 }).timeoutMs).toBe(50 + 60_000 + 1000);
});
