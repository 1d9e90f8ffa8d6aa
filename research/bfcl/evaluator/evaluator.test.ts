import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import type { Group } from "../../../extensions/processes/group.ts";
import { ConfigError, EnvError } from "../../../src/core/errors.ts";
import { openEvaluator, pythonOf, RequestError, SessionOver } from "./evaluator.ts";

type Start = NonNullable<Parameters<typeof openEvaluator>[1]>;

/** Processes that a test plays: what they were started with, what they read, and how they end. */
function processes() {
  const started: {
    command: string;
    args: readonly string[];
    env: NodeJS.ProcessEnv;
    heard: () => unknown[];
    killed: () => number;
  }[] = [];
  const children: (EventEmitter & { stdin: PassThrough; stdout: PassThrough; stderr: PassThrough })[] = [];
  const start: Start = (command, args, { env = {} } = {}) => {
    const child = Object.assign(new EventEmitter(), {
      ...{ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    });
    let text = "";
    child.stdin.setEncoding("utf8").on("data", (part: string) => (text += part));
    child.stdin.on("end", () => child.emit("close", 0, null));
    children.push(child);
    let kills = 0;
    started.push({
      ...{ command, args, env },
      heard: () =>
        text
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      killed: () => kills,
    });
    const group = { child, kill: () => void kills++, end: async () => {} };
    return group as unknown as Group;
  };
  const say = (index: number, line: unknown) => children[index]?.stdout.write(`${JSON.stringify(line)}\n`);
  return { started, children, start, say };
}

test("a model's calls and their check run in two processes, each started at its first request", async () => {
  const { started, start, say } = processes();
  const evaluator = openEvaluator("py", start);
  expect(started).toEqual([]);
  const executed = [evaluator.execute({ op: "open", session: "s" }), evaluator.execute({ op: "execute", calls: ["a()"] })];
  expect(started.map(({ command, args }) => [command, args.slice(0, 2), args[2]])).toEqual([
    ["py", ["-W", "ignore"], expect.stringMatching(/evaluator[\\/]executor\.py$/)],
  ]);
  const judged = evaluator.judge({ op: "check" });
  expect(started.map(({ args }) => args[2])).toEqual([expect.anything(), expect.stringMatching(/evaluator[\\/]judge\.py$/)]);
  expect(started[0]?.env).toMatchObject({ PYTHONHASHSEED: "0", PATH: process.env.PATH });
  expect(
    Object.keys(started[0]?.env ?? {}).filter((name) => !/^(PATH|HOME|LANG|LC_ALL|TMPDIR|PYTHONHASHSEED)$/.test(name)),
  ).toEqual([]);
  expect(Object.values(started[0]?.env ?? {})).not.toContain(undefined);
  say(0, { id: 2, result: ["r"] });
  say(0, { id: 1, result: null });
  say(1, { id: 1, result: { passed: 1 } });
  expect(await Promise.all([...executed, judged])).toEqual([null, ["r"], { passed: 1 }]);
  expect(started.map(({ heard }) => heard())).toEqual([
    [
      { id: 1, op: "open", session: "s" },
      { id: 2, op: "execute", calls: ["a()"] },
    ],
    [{ id: 1, op: "check" }],
  ]);
  await evaluator.close();
  const again = evaluator.execute({ op: "open" });
  expect(started).toHaveLength(3); // a closed evaluator starts other processes
  say(2, { id: 1, result: 7 });
  expect(await again).toBe(7);
  await evaluator.close();
});

test.each([
  ["no answer within 10 s", SessionOver],
  ["its process ended: 9", SessionOver],
  ["its session is over", SessionOver],
  ["TypeError: no answer within reach", RequestError],
])("the error %j of a request is one of ours", async (error, kind) => {
  const { start, say } = processes();
  const evaluator = openEvaluator("py", start);
  const asked = evaluator.execute({ op: "execute" });
  say(0, { id: 1, error });
  await expect(asked).rejects.toEqual(new kind(error));
  await asked.catch((each) => expect(each).toBeInstanceOf(kind));
  await evaluator.close();
});

test("a Python without the package is a wrong setting; a process that ends is an error of the environment", async () => {
  const ended = async (said: string, event: "close" | "error", ...given: unknown[]) => {
    const { children, start } = processes();
    const evaluator = openEvaluator("py3", start);
    const asked = [evaluator.judge({ op: "a" }), evaluator.judge({ op: "b" })];
    const [child] = children;
    child?.stderr.write(said);
    await new Promise((resolve) => setImmediate(resolve));
    child?.emit(event, ...given);
    const errors = await Promise.all(
      [...asked, evaluator.judge({ op: "late" })].map((each) => each.catch((error: Error) => error)),
    );
    expect(new Set(errors).size).toBe(1);
    return errors[0] as Error;
  };
  const install =
    "Install the official evaluator: `python3.11 -m venv bfcl && bfcl/bin/pip install --no-deps bfcl-eval==2026.3.23 mpmath==1.3.0`, " +
    "and name it by environment.settings.python, or by the variable RETROGRADE_BFCL_PYTHON.";
  const absent = await ended("Traceback\nModuleNotFoundError: No module named 'bfcl_eval'\n", "close", 1, null);
  expect(absent).toBeInstanceOf(ConfigError);
  expect(absent.message).toBe(
    `environment.settings.python is "py3"; expected a Python 3.11 with bfcl-eval (ModuleNotFoundError: No module named 'bfcl_eval'). ${install}`,
  );
  const none = await ended("", "error", new Error("spawn py3 ENOENT"));
  expect(none).toBeInstanceOf(ConfigError);
  expect(none.message).toContain("bfcl-eval (spawn py3 ENOENT)");
  expect(none.cause).toEqual(new Error("spawn py3 ENOENT"));
  const killed = await ended("first\nlast words\n", "close", null, "SIGKILL");
  expect(killed).toBeInstanceOf(EnvError);
  expect(killed.message).toBe(`BFCL's evaluator is "signal SIGKILL: last words"; expected a process that answers. ${install}`);
  expect((await ended("", "close", 3, null)).message).toContain('is "exit code 3"; expected');
});

test("a process that does not answer in a minute is killed", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { started, children, start, say } = processes();
    const evaluator = openEvaluator("py", start);
    const answered = evaluator.execute({ op: "a" });
    say(0, { id: 1, result: 1 });
    await answered;
    vi.advanceTimersByTime(60_000);
    expect(started[0]?.killed()).toBe(0);
    const asked = evaluator.execute({ op: "b" });
    vi.advanceTimersByTime(59_999);
    expect(started[0]?.killed()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(started[0]?.killed()).toBe(1);
    children[0]?.emit("close", null, "SIGKILL");
    await expect(asked).rejects.toThrow("signal SIGKILL");
  } finally {
    vi.useRealTimers();
  }
});

test("the Python is the setting's, the variable's, or the path's", () => {
  expect([pythonOf("a", { RETROGRADE_BFCL_PYTHON: "b" }), pythonOf(undefined, { RETROGRADE_BFCL_PYTHON: "b" })]).toEqual([
    "a",
    "b",
  ]);
  expect([pythonOf(undefined, { RETROGRADE_BFCL_PYTHON: "" }), pythonOf(undefined, {})]).toEqual(["python3", "python3"]);
});
