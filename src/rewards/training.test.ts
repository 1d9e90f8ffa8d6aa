import { judgeRewards } from "../../extensions/judge/rewards.ts";
import "../../test/office.ts";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { judgeServer, scoring } from "../../extensions/judge/server.fixture.ts";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { succeeded } from "../core/outcome.ts";
import { layout } from "../runs/layout.ts";
import { readEvaluations, readMetrics, readTimings, readTrajectories } from "../runs/read.ts";
import { createRun, reopenRun } from "../runs/write.ts";
import { resolveConfig, rewardsFromCode } from "../training/config.ts";
import type { TrainingEvent } from "../training/events.ts";
import { train } from "../training/trainer.ts";
import type { UserConfig } from "../training/user-config.ts";
import { addRewards, createRewards } from "./create.ts";
import { defineReward } from "./reward.ts";

addRewards({ judge: judgeRewards });

const key = "sk-very-secret-0123456789";
const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 4 },
  optimizer: { learningRate: 0.1, schedule: "constant" },
  algorithm: { kind: "seeupo", visitScale: "plain", minimumRows: 1, klCoef: 0.002 },
  evaluation: { tasks: 4, k: 2 },
  checkpoint: { every: 2, keep: 1 },
  steps: 4,
  seed: 5,
};
const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-rewards-")), "run");

interface Process {
  readonly resume?: boolean;
  readonly onEvent?: (event: TrainingEvent) => void;
  readonly signal?: AbortSignal;
}

/** As the SDK does it, on the table of letters. */
async function work(folder: string, user: UserConfig, { resume = false, onEvent, signal }: Process = {}) {
  const config = resolveConfig(small, user);
  const rewards = createRewards(config.rewards ?? [], {
    code: rewardsFromCode(user),
    limits: config.limits,
    timeoutMs: 60_000,
    folder,
    env: { JUDGE_KEY: key },
  });
  if (resume) reopenRun(folder, config);
  else createRun(folder, config);
  const engine = new TableEngine(lettersVocabulary);
  return train({ config, engine, chat: lettersChat(), environment: lettersEnvironment(), rewards, folder, onEvent, signal });
}

const saidIn = (attempt: string) =>
  [...attempt.matchAll(/"role":"assistant","content":"([^"]*)"/g)].map(([, text]) => text).join("");
/** Likes c, whatever the environment likes. */
const shareOfC = (attempt: string) =>
  [...saidIn(attempt)].filter((letter) => letter === "c").length / Math.max(1, saidIn(attempt).length);
const metricsOf = (folder: string) => readFileSync(layout.metrics(folder), "utf8");
const everyFile = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .map((bytes) => (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString("utf8"))
    .join("\n");

test("the environment's reward alone, written out, trains as no rewards at all do", async () => {
  const [plain, written] = [newFolder(), newFolder()];
  await work(plain, {});
  await work(written, { rewards: [{ kind: "environment" }] });
  const withoutScores = (folder: string) =>
    readMetrics(folder).map(({ metrics: { "score/reward:environment": _, ...metrics } }) => metrics);
  expect(withoutScores(written)).toEqual(withoutScores(plain));
  expect(metricsOf(plain)).not.toContain("reward:");
  expect(readTimings(plain)[0]).not.toHaveProperty("rewardSeconds");
  const model = (folder: string) => readFileSync(join(layout.model(folder), "table.json"), "utf8");
  expect(model(written)).toBe(model(plain));
});

test("training follows the composed reward, while success stays the environment's word", async () => {
  const folder = newFolder();
  const likesC = defineReward({
    name: "likes-c",
    verify: ({ conversation }) => shareOfC(conversation.map((message) => JSON.stringify(message)).join("\n")),
  });
  await work(folder, { rewards: [likesC, { kind: "environment", weight: 0 }], steps: 30, evaluation: { tasks: 20 } });
  const records = readMetrics(folder);
  const [first, last] = [records[0].metrics, records[records.length - 1].metrics];
  expect(Number(last.reward)).toBeGreaterThan(Number(first.reward) + 0.3);
  expect(last.reward).toBeCloseTo(Number(last["score/reward:likes-c"]), 12);
  expect(Number(last["score/reward:environment"])).toBeLessThan(Number(first["score/reward:environment"]));
  const [before, after] = readEvaluations(folder).filter(({ decoding }) => decoding === "sampled");
  expect(after.reward.mean).toBeLessThan(before.reward.mean);
  const perfect = readTrajectories(folder, 30).find(({ reward }) => reward >= 1);
  expect(perfect?.scores["reward:environment"]).toBeLessThan(1);
  expect(perfect && succeeded(perfect)).toBe(false);
});

test("a judge trains the table; its answers, costs and time are recorded, and its key is nowhere", async () => {
  const { baseUrl, requests } = await judgeServer((request) => scoring(request, shareOfC));
  const folder = newFolder();
  const phases = new Set<string>();
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: "JUDGE_KEY" } as const;
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "progress" && event.phase === "reward" && event.done === event.total) phases.add(event.phase);
  };
  await work(folder, { rewards: [judge], steps: 25, evaluation: { tasks: 0 } }, { onEvent });
  const records = readMetrics(folder);
  expect(Number(records[24].metrics["score/reward:judge"])).toBeGreaterThan(
    Number(records[0].metrics["score/reward:judge"]) + 0.3,
  );
  expect(records.reduce((sum, { metrics }) => sum + Number(metrics["judge/calls"]), 0)).toBe(requests.length);
  expect(readTimings(folder)[0].rewardSeconds).toBeGreaterThan(0);
  expect([...phases]).toEqual(["reward"]);
  expect(everyFile(folder)).toContain("JUDGE_KEY");
  expect(everyFile(folder)).not.toContain(key);
});

test("a run that the judge stopped continues where it was, asks nothing twice, and ends as if nothing had been", async () => {
  let broken = 7;
  const { baseUrl, requests } = await judgeServer((request, number) =>
    number === broken ? { status: 500 } : scoring(request, shareOfC),
  );
  const settings = { retries: 0, concurrency: 1 };
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: "JUDGE_KEY", ...settings } as const;
  const user: UserConfig = { rewards: [{ kind: "environment" }, judge], evaluation: { tasks: 0 } };
  const stopped = newFolder();
  await expect(work(stopped, user)).rejects.toThrow(/reward "judge".*continue with --resume/);
  expect(readMetrics(stopped)).toHaveLength(1);
  await work(stopped, user, { resume: true });
  const asked = requests.length;

  broken = -1;
  const undisturbed = newFolder();
  await work(undisturbed, user);
  expect(metricsOf(stopped)).toBe(metricsOf(undisturbed));
  expect(asked).toBe(requests.length - asked + 1);
});

test("an interruption while the judge thinks moves nothing and keeps the steps before", async () => {
  const interrupt = new AbortController();
  const { baseUrl } = await judgeServer((request, number) => {
    if (number <= 6) return scoring(request, shareOfC);
    interrupt.abort();
    return "hang";
  });
  const folder = newFolder();
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: null, concurrency: 1 } as const;
  const run = work(folder, { rewards: [judge], evaluation: { tasks: 0 } }, { signal: interrupt.signal });
  await expect(run).rejects.toThrow("continue with --resume");
  expect(readMetrics(folder)).toHaveLength(1);
});

test("the budget is a limit that a run may be continued with another of", async () => {
  const { baseUrl, requests } = await judgeServer((request) => scoring(request, shareOfC));
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: null, concurrency: 1 } as const;
  const user: UserConfig = { rewards: [judge], evaluation: { tasks: 0 } };
  const folder = newFolder();
  await expect(work(folder, { ...user, limits: { judgeCalls: 6 } })).rejects.toThrow("--set limits.judgeCalls=");
  expect(requests).toHaveLength(6);
  await work(folder, { ...user, limits: { judgeCalls: 100 } }, { resume: true });
  expect(readMetrics(folder)).toHaveLength(4);
});
