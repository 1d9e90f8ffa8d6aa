import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { endDespiteLeftovers } from "../entries/leftovers.ts";
import { runProgram } from "../entries/run-program.ts";

const listened = ["uncaughtException", "SIGUSR1"] as const;
let before: readonly (readonly Function[])[];
let exits: number;
beforeEach(() => {
  before = listened.map((name) => process.listeners(name as "SIGUSR1"));
  exits = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(process, "exit").mockImplementation((() => void exits++) as never);
});
afterEach(() => {
  for (const [i, name] of listened.entries())
    for (const added of process.listeners(name as "SIGUSR1"))
      if (!before[i].includes(added)) process.off(name, added as () => void);
  process.exitCode = undefined;
  vi.restoreAllMocks();
  vi.useRealTimers();
});
const opened = (...names: readonly string[]) => vi.spyOn(process, "getActiveResourcesInfo").mockReturnValue([...names]);
function ended(...names: readonly string[]) {
  opened(...names);
  const said: string[] = [];
  endDespiteLeftovers((message) => said.push(message));
  return said;
}

test.each([
  [["Timeout", "Immediate"], "a timer"],
  [["TCPSocketWrap"], "a connection"],
  [["TLSWrap", "UDPWrap", "PipeServerWrap", "HTTPINCOMINGMESSAGE"], "a connection"],
  [["ProcessWrap"], "another process"],
  [["MessagePort", "Worker"], "a thread"],
  [["TTYWrap"], "something"],
  [[], "something"],
  [["Worker", "Timeout", "ProcessWrapper", "Timeouts"], "a thread, a timer"],
])("what left %j open is ended after two seconds, and named", (names, what) => {
  const said = ended(...names);
  vi.advanceTimersByTime(1999);
  expect([said, exits]).toEqual([[], 0]);
  vi.advanceTimersByTime(1);
  expect(said).toEqual([`The work is done, but ${what} of a tool, reward or environment is still open. Ended without it.\n`]);
  expect(exits).toBe(1);
});

test("whoever reads slowly gets all of the output", () => {
  const length = vi.spyOn(process.stdout, "writableLength", "get").mockReturnValue(5);
  const said = ended("Timeout");
  vi.advanceTimersByTime(6000);
  expect([said, exits]).toEqual([[], 0]);
  length.mockReturnValue(0);
  vi.advanceTimersByTime(2000);
  expect(exits).toBe(1);
});

test("an error of what was left open is said once, and ends nothing early", () => {
  const said = ended();
  const added = process.listeners("uncaughtException").filter((listener) => !before[0].includes(listener));
  // Errors of the runner's own are not to be raised here: the listeners that were added are called by themselves.
  expect(added).toHaveLength(2);
  for (const listener of added) listener(new Error("late"), "uncaughtException");
  expect(said).toEqual(["The work is done, but what it left open failed: late\n"]);
  expect(exits).toBe(0);
});

test("a program gets the process's arguments and streams, and its code is that of the process", async () => {
  opened();
  const given: unknown[] = [];
  const argv = process.argv;
  process.argv = ["node", "main.js", "runs", "--json"];
  await runProgram(async (...all) => {
    given.push(...all);
    return 7;
  });
  process.argv = argv;
  expect(given).toEqual([["runs", "--json"], process.stdout, process.stderr]);
  expect(process.exitCode).toBe(7);
  expect(process.listenerCount("SIGUSR1")).toBe(before[1].length + 1);
  const onError = process.stdout.listeners("error").at(-1) as (error: unknown) => void;
  process.stdout.off("error", onError);
  // A reader that is gone, as head is, ends nothing.
  expect(() => onError(Object.assign(new Error("closed"), { code: "EPIPE" }))).not.toThrow();
  expect(() => onError(new Error("no space"))).toThrow("no space");
});
