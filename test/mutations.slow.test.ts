import "../research/install.ts";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { RunSources } from "../extensions/dashboard/server/run-source.ts";
import { runDetail, runList } from "../extensions/dashboard/server/run-views.ts";
import { loadModel } from "../extensions/local/model/model-folder.ts";
import { runsCommand, showRunCommand } from "../src/cli/commands/runs.ts";
import { RetrogradeError } from "../src/core/errors.ts";
import { type Random, randomStream } from "../src/core/random.ts";
import { writeCheckpoint } from "../src/runs/checkpoints.ts";
import { listRuns, readEvaluations, readMetrics, readSummary, readTrajectories } from "../src/runs/read.ts";
import { addStep, newRun, trajectoryOf } from "../src/runs/store.fixture.ts";
import { reopenRun, requireSameRun } from "../src/runs/write.ts";
import { openChat } from "../src/sdk/model.ts";
import { wholeConfig } from "../src/sdk/run-environment.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { writeTinyModel } from "./tiny-model.ts";

const mutations = 1000;

/** What a value may turn into by a slip, a bug or malice. */
const oddities: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, 1e9, 1e308, -0, Number.MAX_SAFE_INTEGER, Number.NaN, Number.POSITIVE_INFINITY],
  ...["", "x", "../../evil", "\u0000\u001b[2J", "😀", "a".repeat(5000), "__proto__", "constructor", "https://a:b@c"],
  ...[[], {}, [null], [[]], { kind: "nothing" }, { __proto__: null }, { toString: 1 }, [1, "a", {}]],
];

/** Changes, removes or adds one value somewhere in JSON. */
function mutated(json: unknown, random: Random): unknown {
  const copy: unknown = structuredClone(json);
  const places: { parent: Record<string, unknown>; key: string }[] = [];
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push({ parent: value as Record<string, unknown>, key });
      visit((value as Record<string, unknown>)[key]);
    }
  };
  visit(copy);
  if (places.length === 0 || random.chance(0.03)) return random.pick(oddities);
  const { parent, key } = random.pick(places);
  const kind = random.integer(10);
  if (kind === 0) delete parent[key];
  else if (kind === 1)
    Object.defineProperty(parent, random.pick(["extra", "kind", "name", "__proto__"]), {
      value: random.pick(oddities),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  else if (kind === 2) parent[key] = { ...parent };
  else parent[key] = random.pick(oddities);
  return copy;
}

/** Flips bits, truncates, repeats, or changes a value where the file is JSON. */
function mutatedFile(bytes: Buffer, name: string, random: Random): Buffer | undefined {
  const kind = random.integer(name.endsWith(".json") ? 12 : 5);
  if (kind === 0) return undefined;
  if (kind === 1) return bytes.subarray(0, random.integer(bytes.length + 1));
  if (kind === 2) return Buffer.concat([bytes, bytes.subarray(0, 20)]);
  if (kind < 5) {
    const copy = Buffer.from(bytes);
    for (let flips = 0; flips <= random.integer(3); flips++) copy[random.integer(copy.length)] ^= 1 << random.integer(8);
    return copy;
  }
  return Buffer.from(JSON.stringify(mutated(JSON.parse(bytes.toString()), random)) ?? "");
}

/** The errors of a use that are not of this package. */
async function untyped(use: () => unknown, what: string): Promise<string[]> {
  try {
    await use();
    return [];
  } catch (error) {
    if (error instanceof RetrogradeError) return [];
    return [`${what}: ${error instanceof Error ? `${error.stack}` : String(error)}`];
  }
}

/** Mutates a file of a folder many times. @param restore puts the folder back after each */
async function mutateFolder(folder: string, name: string, use: () => unknown, count = mutations): Promise<string[]> {
  const files = new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path)]),
  );
  const restore = () => {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !files.has(relative(folder, path))) rmSync(path);
    }
    for (const [file, bytes] of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), bytes);
    }
  };
  const wrong: string[] = [];
  for (let i = 0; i < count; i++) {
    const random = randomStream(1, name, i);
    const began = process.cpuUsage();
    const [file, bytes] = random.pick([...files]);
    const changed = mutatedFile(bytes, file, random);
    if (changed === undefined) rmSync(join(folder, file));
    else writeFileSync(join(folder, file), changed);
    wrong.push(...(await untyped(use, `mutation ${i} of ${file}`)));
    restore();
    if (wrong.length >= 5) break;
    const { user, system } = process.cpuUsage(began);
    if (user + system > 20e6) wrong.push(`mutation ${i} of ${file} took ${(user + system) / 1e6} s of processor time`);
  }
  return wrong;
}

test("1,000 mutated configurations: accepted, or refused by an error that names the setting", async () => {
  const configurations: UserConfig[] = [
    {},
    { algorithm: "arpo", environment: "calculator" },
    { algorithm: "ppo", engine: { lora: {} } },
    { algorithm: "dapo", rewards: [{ kind: "environment" }, { kind: "length", target: 20 } as never] },
  ];
  const whole = configurations.flatMap((user) => {
    try {
      return [resolveConfig(user)];
    } catch {
      return [resolveConfig({ ...user, rewards: undefined })];
    }
  });
  const wrong: string[] = [];
  for (let i = 0; i < mutations; i++) {
    const random = randomStream(1, "configuration", i);
    let config: unknown = random.pick(whole);
    for (let times = 0; times <= random.integer(3); times++) config = mutated(config, random);
    wrong.push(...(await untyped(() => resolveConfig(config as UserConfig), `configuration ${i}`)));
  }
  expect(wrong.slice(0, 3)).toEqual([]);
});

test("1,000 mutated model folders: read, or refused by an error that names the file", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-mutations-")), "model");
  await writeTinyModel(folder);
  const use = async () => {
    await loadModel(folder);
    openChat(folder).chat.open([{ role: "user", content: "abc" }], []);
  };
  await use();
  expect(await mutateFolder(folder, "model", use)).toEqual([]);
});

test("1,000 mutated run folders: shown and listed, or refused by an error that names the file", async () => {
  const folder = newRun();
  for (const step of [1, 2, 3]) addStep(folder, step, [trajectoryOf(`step-${step}/0/0`), trajectoryOf(`step-${step}/0/1`)]);
  const progress = { position: 2, episodes: 2, toolCalls: 2, sampledTokens: 9, wallSeconds: 1, peakRssMb: 1 };
  const saveState = async (into: string) => copyFileSync(join(folder, "metrics.jsonl"), join(into, "weights"));
  for (const step of [1, 2]) await writeCheckpoint(folder, { ...progress, step }, { saveState, dropState: async () => {} }, 2);
  const root = dirname(folder);
  const screen = createScreen({ write: () => true });
  let uses = 0;
  const look = async () => {
    // The lists never fail: a damaged run is named in them.
    expect(listRuns(root)).toBeDefined();
    runsCommand({ in: root }, screen);
    runList(new RunSources(root));
    const wrong = [];
    for (const read of [
      () => readMetrics(folder),
      () => readEvaluations(folder),
      () => readSummary(folder),
      () => readTrajectories(folder, 2),
      () => showRunCommand(folder, {}, screen),
      () => runDetail(new RunSources(root).open(basename(folder))),
      () => wholeConfig(folder),
    ])
      wrong.push(...(await untyped(read, String(read))));
    if (uses++ % 10 === 0) {
      const reopen = () => {
        requireSameRun(folder, wholeConfig(folder), wholeConfig(folder));
        reopenRun(folder, wholeConfig(folder), wholeConfig(folder));
      };
      wrong.push(...(await untyped(reopen, "resume")));
    }
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
  };
  await look();
  expect(existsSync(join(folder, "checkpoints", "step-000002", "checksums.json"))).toBe(true);
  expect(await mutateFolder(folder, "run", look)).toEqual([]);
});
