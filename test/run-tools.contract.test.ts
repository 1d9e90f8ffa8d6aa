import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { readMetrics, readTrajectories } from "../src/runs/read.ts";
import { createRun } from "../src/runs/write.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { train } from "../src/training/trainer.ts";
import { invoke } from "./command-line.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "./letters.ts";
import { TableEngine } from "./table-engine.ts";

/** What a terminal shows of runs: the twin of the dashboard. */

const root = mkdtempSync(join(tmpdir(), "retrograde-tools-"));
const [a, b] = [join(root, "a"), join(root, "b")];

async function run(folder: string, learningRate: number): Promise<void> {
  const config = resolveConfig({
    environment: "letters",
    rollout: { tasksPerStep: 3, groupSize: 4, maxTokens: 6 },
    optimizer: { learningRate },
    evaluation: { tasks: 5, k: 2 },
    steps: 4,
  });
  createRun(folder, config);
  const engine = new TableEngine(lettersVocabulary);
  await train({ config, engine, chat: lettersChat(), environment: lettersEnvironment(), folder });
}

beforeAll(async () => {
  await run(a, 0.05);
  await run(b, 0.5);
});

test("two runs are compared by curve, split and decoding", async () => {
  const { exitCode, out } = await invoke("runs", "compare", a, b);
  expect(exitCode).toBe(0);
  expect(out).toMatch(/^A {2}.* .*a\nB {2}.* .*b\n/);
  for (const decoding of ["sampled", "greedy"]) expect(out).toContain(`test, ${decoding}: 5 tasks that both attempted`);
  expect(out.match(/B − A [+−]\d+\.\d points {2}\[.*\], p [=<] /g)).toHaveLength(2);
});

test("an episode is read with what the update did with each of its turns", async () => {
  const signal = readTrajectories(b, 1).find(({ group }, _, all) => {
    const rewards = all.filter((other) => other.group === group).map(({ reward }) => reward);
    return new Set(rewards).size > 1;
  });
  const { id, turns } = signal ?? expect.unreachable("no group of the first step has a signal");
  const { exitCode, out } = await invoke("trajectory", b, id);
  expect(exitCode).toBe(0);
  const rows = out.slice(out.indexOf("What the update did with its turns")).trim().split("\n").slice(2);
  expect(rows).toHaveLength(turns.length);
  expect(rows[0]).toMatch(/^ *1 +[−-]?\d.* [↑↓] /);

  const { out: json } = await invoke("trajectory", b, id, "--json");
  expect(JSON.parse(json)).toMatchObject({ id, turns: turns.map(({ action }) => ({ action })) });
  const missing = await invoke("trajectory", b, "step-9/0/0");
  expect(missing.exitCode).toBe(1);
  expect(missing.error).toContain('the trajectory is "step-9/0/0"; expected the id of one of this run\'s');
});

test("a run is written as tables that other programs read", async () => {
  const out = join(root, "exported");
  const { exitCode, out: paths } = await invoke("runs", "export", b, "--format", "csv", "--out", out);
  expect(exitCode).toBe(0);
  const steps = paths.split("\n").find((path) => path.endsWith("steps.csv")) ?? expect.unreachable();
  const [heading, ...rows] = readFileSync(steps, "utf8").trim().split("\n");
  const column = (row: string, name: string) => row.split(",")[heading.split(",").indexOf(name)];
  expect(rows.map((row) => Number(column(row, "loss")))).toEqual(readMetrics(b).map(({ metrics }) => metrics.loss));
});

// DuckDB weighs 70 MB, so it is asked for: RETROGRADE_DUCKDB is a folder in which `npm install @duckdb/node-api` was run.
const duckDb = process.env.RETROGRADE_DUCKDB ?? "";

test.skipIf(!existsSync(join(duckDb, "node_modules/@duckdb/node-api")))(
  "DuckDB reads what a run is exported as (needs RETROGRADE_DUCKDB)",
  async () => {
    const out = join(root, "parquet");
    await invoke("runs", "export", b, "--format", "parquet", "--out", out);
    const program = `import { DuckDBInstance } from "@duckdb/node-api";
      const connection = await (await DuckDBInstance.create(":memory:")).connect();
      const read = async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson();
      const episodes = await read("select id, reward from '${join(out, "trajectories.parquet")}' where source = 'train' and step = 2 order by id");
      const losses = await read("select loss from '${join(out, "steps.parquet")}' order by step");
      console.log(JSON.stringify({ episodes, losses: losses.map(({ loss }) => loss) }));`;
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", program], { cwd: duckDb, encoding: "utf8" });
    const episodes = readTrajectories(b, 2).map(({ id, reward }) => ({ id, reward }));
    expect(JSON.parse(said)).toEqual({
      episodes: episodes.sort((x, y) => (x.id < y.id ? -1 : 1)),
      losses: readMetrics(b).map(({ metrics }) => metrics.loss),
    });
  },
);
