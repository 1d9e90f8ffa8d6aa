import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bench, programOf } from "./bench.ts";
import type { Benchmark } from "./benchmarks.ts";
import { RateMeter } from "./rate.ts";

/** A machine on which every benchmark gives one number; what happened is kept. */
function machine({ python = "py", load = 1, fails = "" } = {}) {
  const heard: string[] = [];
  const said: string[] = [];
  let folder = "";
  const around: Parameters<typeof bench>[1] = {
    measure: async ({ name, ours }: Benchmark, runs, found, meter) => {
      if (name === fails) throw new Error("no memory");
      folder = String(ours.args[0]).replace(/\/words-135m$/, "");
      heard.push(`${name} ${runs} rounds with ${found}, ${await meter.measure()} GFLOP/s`);
      return [{ benchmark: name, request: "", quantity: "speed", ours: [7], peers: [], setAside: 0 }];
    },
    runProgram: async ({ script, args }, found) => void heard.push(`${script} with ${found}: ${args.slice(1).join(" ")}`),
    findPython: async (named) => {
      heard.push(`python ${named}`);
      return python === "" ? undefined : python;
    },
    openMeter: async (threads) => ({
      measure: async () => 10 * threads,
      close: async () => void heard.push("closed"),
    }),
    officeModel: async () => "/office",
    ...{ bfloat16: false, processor: "2 × fast", load, say: (line: string) => void said.push(line) },
  };
  return { heard, said, around, folder: () => folder };
}
const head = `2 × fast, 3 threads, node ${process.versions.node}`;

test("each benchmark is prepared once, measured and kept; nothing is left behind", async () => {
  const { heard, said, around, folder } = machine();
  const json = join(mkdtempSync(join(tmpdir(), "bench-")), "bench.json");
  await bench({ json, only: ["smollm2-full", "smollm2-adapter"], runs: 2, threads: 3, python: "named" }, around);
  expect(heard).toEqual([
    ...["python named", "ours/words-model.ts with py: "],
    ...["smollm2-full 2 rounds with py, 30 GFLOP/s", "smollm2-adapter 2 rounds with py, 30 GFLOP/s", "closed"],
  ]);
  expect(said).toEqual([`${head}; medians of 2 rounds (lowest–highest)`, "smollm2-full speed: 7", "smollm2-adapter speed: 7"]);
  const result = (benchmark: string) => ({ benchmark, request: "", quantity: "speed", ours: [7], peers: [], setAside: 0 });
  const kept = { machine: head, results: [result("smollm2-full"), result("smollm2-adapter")] };
  expect(readFileSync(json, "utf8")).toBe(`${JSON.stringify(kept, null, 2)}\n`);
  expect(folder()).toMatch(/retrograde-bench-/);
  expect(existsSync(folder())).toBe(false);
});

test("all benchmarks without a Python, on a busy machine", async () => {
  const { heard, said, around } = machine({ python: "", load: 1.26 });
  await bench({ runs: 1, threads: 3 }, around);
  expect(said.slice(0, 3)).toEqual([
    "No Python with torch and transformers: without these peers. Name one with --python or RETROGRADE_PYTHON.",
    `${head}; medians of 1 rounds (lowest–highest)`,
    "The machine is busy (load 1.3): these numbers will be off.",
  ]);
  expect(said).toHaveLength(3 + 6);
  expect(heard.filter((line) => line.startsWith("ours"))).toEqual([
    "ours/words-model.ts with undefined: ",
    expect.stringMatching(/^ours\/record-rollouts\.ts with undefined: 3 .*\/rollouts\.json$/),
  ]);
});

test("a benchmark that fails ends them, and takes its folder with it", async () => {
  const { around, folder } = machine({ fails: "smollm2-adapter" });
  await expect(bench({ runs: 1, threads: 1 }, around)).rejects.toThrow("no memory");
  expect(existsSync(folder())).toBe(false);
});

test("the command line: whole numbers from 1, names that there are", () => {
  const parsed = (...args: readonly string[]) =>
    programOf()
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
      .parse(args, { from: "user" })
      .opts();
  expect(parsed()).toEqual({ runs: 2, threads: 2 });
  expect(
    parsed("--runs", "3", "--threads", "100000", "--json", "f", "--python", "p", "--only", "smollm2-step", "smollm2-8192"),
  ).toEqual({
    ...{ runs: 3, threads: 100_000, json: "f", python: "p", only: ["smollm2-step", "smollm2-8192"] },
  });
  for (const wrong of [
    ["--runs", "0"],
    ["--threads", "1.5"],
    ["--runs", "x1"],
    ["--runs", "1000000"],
  ])
    expect(() => parsed(...wrong)).toThrow("Expected a whole number from 1.");
  expect(() => parsed("--only", "nothing")).toThrow(/Allowed choices are smollm2-full, /);
  expect(programOf().helpInformation().replaceAll(/\s+/g, " ")).toBe(
    "Usage: npm run bench -- [options] Measures the local engine and its peers: rounds alternate, medians are compared. Options: " +
      "--json <file> write { machine, results } to a file, after each benchmark " +
      '--only <names...> some of the benchmarks (choices: "smollm2-full", "smollm2-adapter", "smollm2-sampling", "smollm2-step", "smollm2-step-bfloat16", "smollm2-8192", "training-rollouts") ' +
      "--runs <n> rounds of each, a second or more long (default: 2) --threads <n> threads of every side (default: 2) " +
      "--python <command> a Python with torch and transformers (default: $RETROGRADE_PYTHON, then python3) -h, --help display help for command ",
  );
});

test("the rate of matrix products is that of the best of three runs", async () => {
  const meter = await RateMeter.open(1);
  const rate = await meter.measure();
  expect(rate).toBeGreaterThan(0.1);
  expect(rate).toBeLessThan(1e5);
  await meter.close();
});
