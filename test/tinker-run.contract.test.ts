import "../extensions/install.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { type RunningServer, startTinkerServer } from "../research/tinker-server/server.ts";
import { layout } from "../src/runs/layout.ts";
import { readMetrics, readTimings } from "../src/runs/read.ts";
import type { TimingRecord } from "../src/runs/records.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { serverLine } from "../src/terminal/progress.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { lettersEnvironment, moreLettersTokenizer } from "./letters.ts";
import { writeTinyModel } from "./tiny-model.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-tinker-run-"));
const model = join(folder, "model");
let server: RunningServer;

beforeAll(async () => {
  await writeTinyModel(model, moreLettersTokenizer);
  server = await startTinkerServer({
    models: [await serveModel("tiny", model, 1)],
    store: join(folder, "store"),
    port: 0,
  });
});
afterAll(() => server.close());

const configuration = (algorithm: UserConfig["algorithm"], engine: UserConfig["engine"], out: string): UserConfig => ({
  ...{ environment: lettersEnvironment(), model, algorithm, engine, out, seed: 3, steps: 3 },
  rollout: { tasksPerStep: 3, groupSize: 4, maxTokens: 6 },
  optimizer: { learningRate: 1e-2 },
  evaluation: { tasks: 4, k: 1 },
  checkpoint: { exact: false },
});

// A step of SeeUPO is several of AdamW's, which rounding moves apart until one token is drawn differently: its first step is compared.
test.each([
  ["seeupo", 1],
  ["grpo", 3],
] as const)(
  "%s on a Tinker server is what it is in process: the same rollouts, rewards and steps, for %d steps",
  async (algorithm, steps) => {
    const timings: TimingRecord[][] = [];
    const metrics = async (engine: UserConfig["engine"], name: string) => {
      const out = join(folder, `${algorithm}-${name}`);
      await runPlan(await planRun(configuration(algorithm, engine, out)));
      timings.push(readTimings(out));
      const lines = readFileSync(layout.metrics(out), "utf8").trim().split("\n");
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    };
    const lora = { rank: 4, alpha: 32, targets: "all-linear" as const };
    const local = await metrics({ kind: "local", threads: 1, lora }, "local");
    const remote = await metrics({ kind: "tinker", url: server.baseUrl, model: "tiny", rank: 4 }, "remote");
    expect(remote).toHaveLength(local.length);
    expect(timings[0].every(({ requests }) => requests === undefined)).toBe(true);
    for (const [i, timing] of timings[1].entries()) {
      // GRPO waits for its pass and for its step; SeeUPO for the log-probs at the start, and for the log-probs, the pass and the step of each turn update.
      const { turnUpdates } = remote[i].metrics as { readonly turnUpdates?: number };
      expect(timing.serverWaits).toBe(turnUpdates === undefined ? 2 : 1 + 3 * turnUpdates);
      expect(timing.requests).toBeGreaterThan(12);
      expect(timing.sharedTokens).toBeLessThan(timing.trainedTokens);
      expect(serverLine(timing)).toMatch(/server: \d+ requests, \d+ waits?, [\d.e-]+ MB sent, .* × the tokens/);
    }
    for (const [step, expected] of local.slice(0, steps).entries())
      expectNear(remote[step], expected, `${algorithm}, step ${step}`);
  },
);

test.each([
  [1, 1],
  [10, 0],
])("a client that is killed after step 3, with checkpoint.first %d, continues after step %d", async (first, kept) => {
  const engine = { kind: "tinker", url: server.baseUrl, model: "tiny", rank: 4 } as const;
  const given = {
    ...configuration("grpo", engine, join(folder, `killed-${first}`)),
    steps: 5,
    checkpoint: { first, exact: false },
  };
  const script = join(import.meta.dirname, "tinker-process.ts");
  const child = spawn(process.execPath, ["--import", "jiti/register", script, JSON.stringify(given)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.on("data", (lines: Buffer) => String(lines).includes("3") && child.kill("SIGKILL"));
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  const made: number[] = [];
  await runPlan(await planRun(given, { resume: true }), {
    onEvent: (event) => void (event.type === "stepped" && made.push(event.record.step)),
  });
  // What was paid twice: steps 2 and 3, or all three.
  expect(made).toEqual([1, 2, 3, 4, 5].slice(kept));
  expect(readMetrics(String(given.out)).map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
});

/** What engines without entropies cannot report. */
const missing = /entrop/;

/** Numbers agree but for rounding; log-probs travel as float32. */
function expectNear(actual: Record<string, unknown>, expected: Record<string, unknown>, where: string): void {
  let compared = 0;
  for (const [key, value] of Object.entries(expected)) {
    if (missing.test(key)) continue;
    if (typeof value === "number") {
      const given = actual[key];
      expect(given, `${where}, ${key}`).toBeTypeOf("number");
      const distance = Math.abs((given as number) - value);
      expect(distance, `${where}, ${key}: ${String(given)} against ${value}`).toBeLessThan(2e-3 * Math.max(1, Math.abs(value)));
      compared++;
    } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      expectNear((actual[key] ?? {}) as Record<string, unknown>, value as Record<string, unknown>, `${where}, ${key}`);
      compared++;
    }
  }
  expect(compared).toBeGreaterThan(0);
}
