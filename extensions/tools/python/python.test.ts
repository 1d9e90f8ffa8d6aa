import { beforeEach, expect, test } from "vitest";
import type { Failed, History, PoolLimits } from "./pool.ts";
import type { Answer } from "./protocol.ts";
import { pythonOf, pythonSettings } from "./python.ts";

const { allowUnwalled: _, ...defaults } = pythonSettings.parse({ allowUnwalled: true });
const { signal } = new AbortController();

/** What a pool was asked for, and what it answers: without an answer, the code as output. */
const log: unknown[] = [];
let answers: (Partial<Answer> | Failed | Error)[] = [];
beforeEach(() => {
  log.length = 0;
  answers = [];
});

function openPool(limits: PoolLimits) {
  log.push(limits);
  return {
    run: async (history: History | undefined, code: string, given?: AbortSignal): Promise<Answer | Failed> => {
      const cells = history?.cells.map((cell) => cell.code);
      log.push({ cells, code, ...(given && { signal: given }) });
      await null;
      history?.cells.push({ code, ms: 1 });
      const answer = answers.shift() ?? {};
      if (answer instanceof Error) throw answer;
      if (typeof answer === "string") return answer;
      return { id: 0, kind: "", text: "", output: `${code}\n`, droppedBytes: 0, ...answer };
    },
    end: ({ cells }: History) => void log.push(`end ${cells.length}`),
    prepare: () => void log.push("prepare"),
    warm: async () => void log.push("warm"),
    close: () => void log.push("close"),
  };
}

const python = (settings: Partial<typeof defaults> = {}) => pythonOf({ ...defaults, ...settings }, openPool);

test("settings become the pool's limits: megabytes as bytes, characters of output as four bytes each", () => {
  python();
  python({ interpreters: 3, timeoutMs: 500, memoryMb: 64, maxOutput: 7, stderr: false });
  expect(log).toEqual([
    { interpreters: 2, timeoutMs: 10_000, memoryBytes: 256 * 2 ** 20, outputBytes: 40_000, stderr: true },
    { interpreters: 3, timeoutMs: 500, memoryBytes: 64 * 2 ** 20, outputBytes: 28, stderr: false },
  ]);
});

test.each<[Partial<Answer> | Failed, string, string | undefined]>([
  [{}, "1\n", undefined],
  [{ kind: "error", text: "KeyError" }, "1\n", "KeyError"],
  [{ kind: "error", text: "x".repeat(8001) }, "1\n", `${"x".repeat(8000)}\n[cut: the first 8000 of 8001 characters]`],
  [{ output: "x".repeat(12) }, `${"x".repeat(10)}\n[cut: the first 10 of 12 characters]`, undefined],
  [{ output: "abc", droppedBytes: 9 }, "abc\n[cut: the first 3 of about 12 characters]", undefined],
  [{ kind: "interrupted" }, "1\n", "Error: stopped after 1.5 s."],
  [{ kind: "memory", output: "" }, "", "Error: more than 256 MB of memory."],
  ["time", "", "Error: stopped after 1.5 s."],
  ["memory", "", "Error: more than 256 MB of memory."],
  ["crash", "", "Error: the interpreter crashed and was replaced."],
  [
    "lost",
    "",
    "Error: this call was not run. The session's earlier calls could not be run again in their time, so that its variables are gone. " +
      "The next call begins a new session.",
  ],
])("an answer of %j is read as %j and %j", async (answer, output, error) => {
  answers = [answer];
  expect(await python({ timeoutMs: 1500, maxOutput: 10 }).run("1")).toEqual({ output, error });
});

test("in a session with earlier cells, an ending says that variables are as before", async () => {
  const session = python().session();
  await session.run("a");
  answers = ["crash", { kind: "memory", output: "" }, "time", { kind: "interrupted", output: "" }, "lost"];
  const kept = " Variables are as before this call.";
  const texts = [
    "the interpreter crashed and was replaced.",
    ...["more than 256 MB of memory.", "stopped after 10 s.", "stopped after 10 s."],
  ];
  for (const text of texts) expect((await session.run("x")).error).toBe(`Error: ${text}${kept}`);
  expect((await session.run("x")).error).not.toContain(kept);
});

test("calls of a session run one after the other, also after one that failed; a fork goes its own way", async () => {
  const session = python().session();
  answers = [{}, new Error("closed")];
  const [first, second, third] = [session.run("a", signal), session.run("b"), session.run("c")];
  expect((await first).output).toBe("a\n");
  await expect(second).rejects.toThrow("closed");
  expect((await third).output).toBe("c\n");
  const fork = session.fork();
  await fork.run("d");
  await session.run("e");
  fork.close();
  expect(log.slice(1)).toEqual([
    ...["prepare", { cells: [], code: "a", signal }, { cells: ["a"], code: "b" }, { cells: ["a", "b"], code: "c" }, "prepare"],
    ...[{ cells: ["a", "b", "c"], code: "d" }, { cells: ["a", "b", "c"], code: "e" }, "end 4"],
  ]);
});

test("without a session each call is alone; starting ahead and closing are the pool's", async () => {
  const one = python();
  await one.run("a", signal);
  await one.warm();
  one.close();
  expect(log.slice(1)).toEqual([{ cells: undefined, code: "a", signal }, "warm", "close"]);
});

test("the tools show output and error, and may be asked again where a call has no past", async () => {
  const one = python();
  const beginning =
    "Runs Python code and returns what it prints and the value of its last line. Only the standard library is there. ";
  const common = { name: "python", timeoutMs: 70_000, maxOutput: Number.POSITIVE_INFINITY, replayable: true };
  expect(one.tool).toMatchObject({
    ...{ ...common, idempotent: true },
    description: `${beginning}Every call starts anew, without the variables of earlier ones.`,
  });
  expect(one.session().tool).toMatchObject({
    ...{ ...common, idempotent: false },
    description: `${beginning}Variables stay for the next call.`,
  });
  answers = [{ output: "a \n\n" }, { kind: "error", text: "E" }, { output: " \n" }, { output: "", kind: "error", text: "E" }];
  const shown = [];
  for (let i = 0; i < 4; i++) shown.push(await one.tool.execute({ code: "1" }, { signal }));
  expect(shown).toEqual(["a", "1\nE", "[no output: print what you want to see]", "E"]);
  expect(log.at(-1)).toEqual({ cells: undefined, code: "1", signal });
});
