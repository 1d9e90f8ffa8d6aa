import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { measure, resultsOf, slowOf } from "./measure.ts";
import { findPython } from "./python.ts";
import { commandOf, type Program, type Quantities, type Side, startSide } from "./side.ts";

const program = (script: string): Program => ({ script, args: [1, "two"] });

/** Sides that answer with a row of numbers each, or fail at it. */
function sides(rows: Readonly<Record<string, readonly (number | Error)[]>>) {
  const heard: string[] = [];
  const start = async ({ script }: Program, python: string | undefined): Promise<Side> => {
    heard.push(`start ${script} ${python}`);
    const values = [...(rows[script] ?? [])];
    if (rows[script] === undefined) throw new Error("no package");
    return {
      name: `${script} 1.0`,
      round: async (request): Promise<Quantities> => {
        heard.push(`${script} ${request}`);
        const value = values.shift() ?? 0;
        if (value instanceof Error) throw value;
        return { speed: value };
      },
      stop: async () => void heard.push(`stop ${script}`),
    };
  };
  return { heard, start };
}
const benchmark = {
  ...{ name: "step", prepare: [], requests: ["a", "b"] },
  ours: program("ours.ts"),
  peers: { slow: program("slow.py"), other: program("other.ts"), absent: program("absent.ts") },
};

test("rounds of all sides alternate, a slow one is repeated, and a peer that fails is left out", async () => {
  const { heard, start } = sides({
    "ours.ts": [10, 20, 30, 40, 50],
    "slow.py": [5, 10, new Error("out of memory")],
    "other.ts": [20, 20, 20, 20, 20],
  });
  // The fifth moment is slower than half of the best: of the second round of "a", beside ours.
  const rates = [100, 100, 100, 100, 100, 100, 49, 100, 100];
  const meter = { measure: async () => rates.shift() ?? 100 };
  const said: string[] = [];
  const results = await measure(benchmark, 2, "python", meter, (line) => said.push(line), start);
  expect(said).toEqual(["  without absent: no package", "  without slow: out of memory"]);
  expect(heard).toEqual([
    ...["start ours.ts python", "start slow.py python", "start other.ts python", "start absent.ts python"],
    ...["ours.ts a", "slow.py a", "other.ts a", "ours.ts b", "slow.py b", "other.ts b"],
    ...["ours.ts a", "slow.py a", "other.ts a", "ours.ts b", "other.ts b", "ours.ts a", "other.ts a"],
    ...["stop ours.ts", "stop other.ts"],
  ]);
  // The slow peer is gone, so its names are too.
  expect(results).toEqual([
    {
      ...{ benchmark: "step", request: "a", quantity: "speed", ours: [10, 50], setAside: 1 },
      peers: [{ name: "other.ts 1.0", values: [20, 20], ratio: 1.5 }],
    },
    {
      ...{ benchmark: "step", request: "b", quantity: "speed", ours: [20, 40], setAside: 0 },
      peers: [{ name: "other.ts 1.0", values: [20, 20], ratio: 1.5 }],
    },
  ]);
});

test("without Python its peers are not started; a benchmark has as many rounds as it allows; our own failure is one", async () => {
  const { heard, start } = sides({ "ours.ts": [1, 2, 3, 4], "other.ts": [1, 1, 1, 1] });
  const meter = { measure: async () => 1 };
  await measure({ ...benchmark, rounds: 1 }, 3, undefined, meter, () => {}, start);
  expect(heard.filter((line) => line.startsWith("start"))).toEqual([
    ...["start ours.ts undefined", "start other.ts undefined", "start absent.ts undefined"],
  ]);
  expect(heard.filter((line) => line.startsWith("ours"))).toEqual(["ours.ts a", "ours.ts b"]);
  const broken = sides({ "ours.ts": [new Error("ours broke")], "other.ts": [1] });
  await expect(measure(benchmark, 1, undefined, meter, () => {}, broken.start)).rejects.toThrow("ours broke");
  expect(broken.heard.slice(-2)).toEqual(["stop ours.ts", "stop other.ts"]);
});

test("a round is slow below half of the best rate, and a request without a round that counts has no result", () => {
  const round = (request: string, gflops: number, ours: number) => ({
    ...{ request, gflops },
    sides: new Map([["ours", { speed: ours }]]),
  });
  const rounds = [round("a", 100, 1), round("a", 50, 2), round("b", 49.9, 3)];
  expect(slowOf(rounds)).toEqual([rounds[2]]);
  expect(resultsOf("x", "a", rounds, new Map([["ours", "us"]]))).toEqual([
    { benchmark: "x", request: "a", quantity: "speed", ours: [1, 2], peers: [], setAside: 0 },
  ]);
  expect(resultsOf("x", "b", rounds, new Map())).toEqual([]);
});

test("a side: its name, a round for each request, and an end that is waited for", async () => {
  const child = Object.assign(new EventEmitter(), {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    killed: 0,
    kill: () => child.killed++,
  });
  const asked: string[] = [];
  child.stdin.on("data", (text: Buffer) => asked.push(String(text)));
  const start = (command: string, args: readonly string[]) => {
    expect([command, args.at(-1)]).toEqual(["py", "two"]);
    child.stdout.write('{"name": "PyTorch 2"}\n');
    return child as unknown as ReturnType<NonNullable<Parameters<typeof startSide>[2]>>;
  };
  const side = await startSide(program("peers/step.py"), "py", start);
  expect(side.name).toBe("PyTorch 2");
  const round = side.round("8 64");
  child.stdout.write('{"speed": 2.5}\n');
  expect(await round).toEqual({ speed: 2.5 });
  expect(asked).toEqual(["8 64\n"]);
  const wrong = side.round("1");
  child.stdout.write('{"speed": 0}\n');
  await expect(wrong).rejects.toThrow();
  const late = side.round("2");
  child.stdout.end();
  await expect(late).rejects.toThrow('bench/peers/step.py is "ended". Its own message stands above.');
  const stopped = side.stop();
  child.emit("exit", 0);
  await stopped;
  expect([child.stdin.writableEnded, child.killed]).toEqual([true, 1]);
});

test("the Python is the named one, which has to have the packages, or that of the path where it has them", async () => {
  const tried: string[] = [];
  const find = (given: string | undefined, named: string | undefined, lacking: boolean) =>
    findPython(given, { RETROGRADE_PYTHON: named }, async (python) => {
      tried.push(python);
      return lacking ? new Error("no torch") : null;
    });
  expect([await find("a", "b", false), await find(undefined, "b", false), await find(undefined, undefined, false)]).toEqual([
    ...["a", "b", "python3"],
  ]);
  expect(await find(undefined, undefined, true)).toBeUndefined();
  expect(tried).toEqual(["a", "b", "python3", "python3"]);
  await expect(find("a", "b", true)).rejects.toThrow('--python is "a"; expected a Python that imports torch and transformers');
  await expect(find(undefined, "b", true)).rejects.toThrow('RETROGRADE_PYTHON is "b"; expected a Python that imports torch');
});

test("a program in Python runs in the one that was found, another in Node by jiti", () => {
  const [python, args] = commandOf(program("peers/step.py"), "/p");
  expect([python, args.slice(1)]).toEqual(["/p", ["1", "two"]]);
  expect(args[0]).toMatch(/research[\\/]bench[\\/]peers[\\/]step\.py$/);
  expect(commandOf(program("a.py"), undefined)[0]).toBe("python3");
  const [node, [jiti, script, ...rest]] = commandOf(program("ours/step.ts"), "/p");
  expect([node, rest]).toEqual([process.execPath, ["1", "two"]]);
  expect(jiti).toMatch(/jiti-cli\.mjs$/);
  expect(script).toMatch(/bench[\\/]ours[\\/]step\.ts$/);
});
