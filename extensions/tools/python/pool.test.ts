import { beforeEach, expect, test, vi } from "vitest";
import { type History, Pool, type PoolLimits } from "./pool.ts";
import type { Ending, PythonProcess } from "./process.ts";
import type { Answer, Request } from "./protocol.ts";

type Asked = Omit<Request, "id">;

/** A process that prints the cells that it ran, and ends or hangs as their words say. */
class FakeProcess {
  readonly asked: Asked[] = [];
  ended = false;
  #end = () => {};
  kill(): void {
    this.ended = true;
    this.#end();
  }
  async ask(request: Asked): Promise<Answer | Ending> {
    this.asked.push(request);
    const { code } = request;
    if (this.ended) return "crash";
    if (code === "hang")
      return new Promise((resolve) => {
        this.#end = () => resolve("crash");
      });
    if (code.startsWith("slow ")) vi.advanceTimersByTime(Number(code.slice(5)));
    if (code === "wait") await new Promise<void>((resolve) => waits.push(resolve));
    if (code === "time" || code === "crash" || (code === "once" && started.length > 1)) {
      this.ended = true;
      return code === "once" ? "crash" : code;
    }
    const kind = code === "interrupted" || code === "memory" || code === "error" ? code : "";
    return { id: 0, kind, text: "", output: this.asked.map((each) => each.code).join(" "), droppedBytes: 0 };
  }
}

const started: FakeProcess[] = [];
const waits: (() => void)[] = [];
const failures: Error[] = [];
vi.mock("./process.ts", () => ({
  startPython: async (): Promise<PythonProcess> => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const process = new FakeProcess();
    started.push(process);
    return process as unknown as PythonProcess;
  },
}));

let pool: Pool;
beforeEach(() => {
  for (const list of [started, waits, failures]) list.length = 0;
  pool = make();
  return () => pool.close();
});

function make(limits: Partial<PoolLimits> = {}): Pool {
  return new Pool({ interpreters: 2, timeoutMs: 1000, outputBytes: 40, memoryBytes: 1, stderr: true, ...limits });
}
const history = (): History => ({ cells: [] });
const output = async (work: Promise<Answer | string>) => {
  const answer = await work;
  return typeof answer === "string" ? answer : answer.output;
};
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
const alive = () => started.filter(({ ended }) => !ended).length;

test("a history keeps its process, and others have others; calls without one may share", async () => {
  const [a, b] = [history(), history()];
  expect(await output(pool.run(a, "a1"))).toBe("a1");
  expect(await output(pool.run(b, "b1"))).toBe("b1");
  expect(await output(pool.run(a, "a2"))).toBe("a1 a2");
  expect(a.cells.map(({ code }) => code)).toEqual(["a1", "a2"]);
  expect(started[0].asked[0]).toEqual({ continues: true, code: "a1", timeoutMs: 1000, outputBytes: 40 });
  expect(await output(pool.run(undefined, "x"))).toBe("x");
  expect(await output(pool.run(undefined, "y"))).toBe("x y");
  expect(
    started
      .flatMap(({ asked }) => asked)
      .filter(({ continues }) => !continues)
      .map(({ code }) => code),
  ).toEqual(["x", "y"]);
});

test("the one that was not used for longest makes room, and continues by its cells, whose output nobody reads", async () => {
  const [a, b, c] = [history(), history(), history()];
  for (const each of [a, b]) await pool.run(each, "one");
  await pool.run(a, "two");
  expect(await output(pool.run(c, "c"))).toBe("c");
  await settled();
  // Two that are used, and one ahead of need; the process of b is gone.
  expect([started.map(({ ended }) => ended), alive()]).toEqual([[false, true, false, false], 3]);
  expect(await output(pool.run(b, "three"))).toBe("one three");
  const again = started.findLast(({ asked }) => asked.length === 2);
  expect(again?.asked.map(({ outputBytes, continues }) => [outputBytes, continues])).toEqual([
    [0, true],
    [40, true],
  ]);
  expect(again?.asked[0].timeoutMs).toBeGreaterThan(500);
  expect(b.cells.map(({ code }) => code)).toEqual(["one", "three"]);
});

test("no more processes are used than there may be: further calls wait for their turn, in their order", async () => {
  const order: string[] = [];
  const calls = ["wait", "wait", "third", "fourth"].map((code) =>
    pool.run(history(), code).then(() => {
      order.push(code);
    }),
  );
  await settled();
  expect([waits.length, order]).toEqual([2, []]);
  waits[0]();
  await vi.waitFor(() => expect(order).toEqual(["wait", "third", "fourth"]));
  waits[1]();
  await Promise.all(calls);
  expect(order).toHaveLength(4);
});

test("a cell that ended by itself is of the history, one that was stopped is not, and its process is gone", async () => {
  const a = history();
  for (const code of ["one", "error"]) await pool.run(a, code);
  for (const code of ["interrupted", "memory", "time"]) {
    const answer = await pool.run(a, code);
    expect(typeof answer === "string" ? answer : answer.kind).toBe(code);
    expect(a.cells.map((cell) => cell.code)).toEqual(["one", "error"]);
    expect(await output(pool.run(a, "next"))).toBe("one error next");
    a.cells.pop();
  }
});

test("a process that ended between two calls is replaced and asked again, a new one that crashes is not", async () => {
  const a = history();
  await pool.run(a, "one");
  started[0].ended = true;
  expect(await output(pool.run(a, "two"))).toBe("one two");
  expect(await pool.run(history(), "crash")).toBe("crash");
  const b = history();
  await pool.run(b, "first");
  // It crashes its process whenever another was started before: once more, and no further.
  const before = started.length;
  expect(await pool.run(b, "once")).toBe("crash");
  expect(started.length - before).toBeLessThanOrEqual(2);
  expect(b.cells.map(({ code }) => code)).toEqual(["first"]);
});

test("cells that cannot be run again are lost, and the history begins from nothing", async () => {
  const a: History = { cells: [{ code: "time", ms: 1 }] };
  expect(await pool.run(a, "next")).toBe("lost");
  expect(a.cells).toEqual([]);
  expect(await output(pool.run(a, "next"))).toBe("next");
  expect(await pool.run({ cells: [{ code: "interrupted", ms: 1 }] }, "x")).toBe("lost");
});

test("a session that ends gives its process back; others stay", async () => {
  const [a, b] = [history(), history()];
  for (const each of [a, b]) await pool.run(each, "one");
  pool.end(a);
  expect([started[0].ended, started[1].ended]).toEqual([true, false]);
  expect(await output(pool.run(a, "two"))).toBe("one two");
});

test("processes are started ahead of need: one for the next history, all with warm()", async () => {
  pool.prepare();
  pool.prepare();
  await settled();
  expect(started).toHaveLength(1);
  await pool.warm();
  expect(started).toHaveLength(2);
  await pool.run(undefined, "x");
  await settled();
  expect(started).toHaveLength(2);
  await pool.run(history(), "x");
  await settled();
  expect(started).toHaveLength(3);
});

test("who leaves while waiting takes no place, and who leaves while running ends the process", async () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const single = make({ interpreters: 1 });
  const running = single.run(history(), "hang", one.signal);
  const waiting = single.run(history(), "second", two.signal);
  const third = single.run(history(), "third");
  await settled();
  two.abort(new Error("second left"));
  await expect(waiting).rejects.toThrow("second left");
  one.abort(new Error("first left"));
  expect(started[0].ended).toBe(true);
  await expect(running).rejects.toThrow("first left");
  expect(await output(third)).toBe("third");
  const hanging = single.run(history(), "hang");
  const last = single.run(history(), "last");
  await expect(single.run(history(), "x", AbortSignal.abort(new Error("at once")))).rejects.toThrow("at once");
  single.close();
  for (const each of [hanging, last]) await expect(each).rejects.toThrow(/python is "closed"; expected an open pool/);
});

test("a pool that is closed ends all that it started, and runs nothing", async () => {
  await pool.run(history(), "one");
  await settled();
  expect(alive()).toBe(2);
  pool.close();
  expect(alive()).toBe(0);
  await expect(pool.run(undefined, "x")).rejects.toThrow(/closed/);
  pool.prepare();
  await settled();
  expect(alive()).toBe(0);
});

test("an interpreter that does not start is an error for who asked, and the next one may start", async () => {
  failures.push(new Error("no memory"));
  await expect(pool.run(history(), "x")).rejects.toThrow("no memory");
  expect(await output(pool.run(history(), "y"))).toBe("y");
});

test("a session is run again in the time of one call and twice what its cells took; none has more than its own and a call", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const cells = [
      { code: "slow 900", ms: 200 },
      { code: "slow 900", ms: 300 },
      { code: "quick", ms: 0 },
    ];
    // The last one that was asked: another is started ahead of need.
    const used = () => started.findLast(({ asked }) => asked.length > 0);
    const limits = () => used()?.asked.map(({ timeoutMs }) => timeoutMs);
    expect(await output(pool.run({ cells: [...cells] }, "next"))).toBe("slow 900 slow 900 quick next");
    // Until 1000 + 2 (200 + 300) = 2000: 1000 + 200, then 2000 - 900, then 2000 - 1800, then a call's own.
    expect(limits()).toEqual([1200, 1100, 200, 1000]);
    const late: History = { cells: [...cells.slice(0, 2), { code: "slow 200", ms: 0 }, { code: "never", ms: 0 }] };
    expect(await pool.run(late, "next")).toBe("lost");
    expect([limits(), late.cells, used()?.ended]).toEqual([[1200, 1100, 200], [], true]);
  } finally {
    vi.useRealTimers();
  }
});

test("a cell keeps the time that it took", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const a = history();
    await pool.run(a, "slow 70");
    await pool.run(a, "quick");
    expect(a.cells).toEqual([
      { code: "slow 70", ms: 70 },
      { code: "quick", ms: 0 },
    ]);
  } finally {
    vi.useRealTimers();
  }
});
