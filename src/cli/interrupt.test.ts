import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { listenForInterrupt } from "./interrupt.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("the first Ctrl-C asks for a clean end, its echo from npm is ignored, a second one ends at once", async () => {
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const asked = vi.fn();
  const interrupt = listenForInterrupt(asked);
  process.emit("SIGINT");
  process.emit("SIGINT");
  expect(interrupt.signal.aborted).toBe(true);
  expect(asked).toHaveBeenCalledOnce();
  expect(exit).not.toHaveBeenCalled();

  await sleep(600);
  process.emit("SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
  interrupt.release();
});
