import "../../test/loopback.ts";
import { addRewards } from "../../src/rewards/kinds.ts";
import { judgeReward } from "./rewards.ts";
import "../../test/office.ts";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { defineReward } from "../../src/rewards/reward.ts";
import { readMetrics, readRun } from "../../src/runs/read.ts";
import { planRun, train } from "../../src/sdk/train.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { lettersEnvironment } from "../../test/letters.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";
import { attemptsIn, judgeServer, scoring } from "./server.fixture.ts";

addRewards({ judge: judgeReward });

const variable = "RETROGRADE_TEST_JUDGE_KEY";
const key = "sk-very-secret-0123456789";

test("a run with a judge: refused without its key before anything is written or asked, then trained on a transformer", async () => {
  onTestFinished(() => {
    delete process.env[variable];
  });
  const { baseUrl, requests } = await judgeServer((request) => scoring(request, (attempt) => Math.min(1, attempt.length / 1000)));
  const root = mkdtempSync(join(tmpdir(), "retrograde-rewards-"));
  const out = join(root, "run");
  await writeTinyModel(join(root, "model"));
  const user: UserConfig = {
    environment: lettersEnvironment(),
    model: join(root, "model"),
    rewards: [
      { kind: "environment" },
      defineReward({ name: "short", weight: 0.5, verify: ({ answer }) => answer.length < 3 }),
      { kind: "length", free: 2, perToken: 0.01 },
      { kind: "judge", model: "wise", baseUrl, apiKeyEnv: variable },
    ],
    rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 4 },
    evaluation: { tasks: 0 },
    steps: 1,
    out,
  };
  await expect(planRun(user)).rejects.toThrow(`environment variable ${variable} is missing`);
  expect(existsSync(out)).toBe(false);

  process.env[variable] = key;
  await train(user);
  const [{ metrics }] = readMetrics(out);
  const parts = ["environment", "short", "length", "judge"].map((name) => Number(metrics[`score/reward:${name}`]));
  expect(metrics.reward).toBeCloseTo(parts[0] + 0.5 * parts[1] + parts[2] + parts[3], 9);
  expect(requests.length).toBe(metrics["judge/calls"]);
  for (const request of requests) expect(attemptsIn(request).size).toBeGreaterThan(1);
  expect(readRun(out).config).toMatchObject({
    rewards: [{ kind: "environment" }, { kind: "verifiable", name: "short" }, {}, { apiKeyEnv: variable }],
  });

  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) {
    const bytes = readFileSync(join(file.parentPath, file.name));
    expect((file.name.endsWith(".gz") ? gunzipSync(bytes) : bytes).includes(key), file.name).toBe(false);
  }
  await expect(planRun({ environment: lettersEnvironment(), out }, { resume: true })).rejects.toThrow(
    /rewards\.1 is "short"; expected a reward that the configuration file defines/,
  );
});
