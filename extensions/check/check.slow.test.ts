import "../../research/install.ts";
import { expect, test } from "vitest";
import { mean } from "../../src/core/mean.ts";
import type { ToolCall } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import type { Lazy } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { couriers, folders } from "../office/rules.ts";
import type { OfficeTask } from "../office/task.ts";
import { checkEnvironment } from "./check.ts";

const { rollout } = resolveConfig();

test("the office gives nothing away: the expert solves it, and nothing that understands nothing does", async () => {
  const report = await checkEnvironment(createEnvironment("office", {}), { seed: 1, tasks: 240, trainingTasks: 400, rollout });
  expect(report.expert?.mean).toBe(1);
  expect(report.rules.slice(0, 2)).toMatchObject([
    { check_id: "semantic.oracle_max", status: "pass", measured: { oracle_reward: 1 } },
    { check_id: "semantic.floor_gap", status: "pass", remediation: null },
  ]);
  expect(report.policies.length).toBeGreaterThanOrEqual(15);
  expect(report.policies.filter(({ success }) => success.mean > 0.15)).toEqual([]);
  expect(report.lazy.choices).toHaveLength(9);
  expect(report.lazy.choices.map(({ answer }) => answer)).toContainEqual(expect.stringMatching(/^book_room.rate = /));
  expect(report.lazy.choices.filter(({ where }) => where.mean > 0.6)).toEqual([]);
  expect(report.lazy.choices.filter(({ success }) => success.mean > 0.92)).toEqual([]);
  expect(report.lazy.combined.slice(3).filter(({ success }) => success.mean > 0.6)).toEqual([]);
  expect(report.lazy.combined.at(-1)?.success.mean).toBeLessThan(0.25);
  expect(report.overlap.map(({ shared }) => shared)).toEqual(report.overlap.map(() => 0));
  expect(report.overlap).toHaveLength(7);
  expect(report.unchecked).toEqual([
    expect.stringMatching(/^No argument of find_contact, .* is one of a few values: none was held constant\.$/),
    "No model was measured.",
  ]);
});

test("another search, of 300 rule sets that judge nothing, finds no more than the check says", () => {
  const office = createEnvironment("office", {});
  const { expert } = office;
  if (expert === undefined) throw new Error("no expert");
  const tasks = Array.from({ length: 60 }, (_, i) => office.task("test", i) as OfficeTask);
  const arguments_ = { book_room: ["flex", "fixed"], move_file: folders, send_parcel: couriers } as const;
  const chosen = ["books the room that fits", "chooses the right folder", "chooses the courier of the day"];
  // What a rule may go by: nothing, or something in sight that decides nothing.
  const cues: readonly ((task: OfficeTask) => string)[] = [
    () => "",
    ({ requests }) => String(requests.length),
    ({ kinds }) => kinds[0],
    ({ requests }) => requests[0].text[0],
  ];
  const successes = Array.from({ length: 300 }, (_, rules) => {
    const cue = cues[rules % cues.length];
    return mean(
      tasks.map((task) => {
        const draw = (choice: string) => randomStream(rules, choice, cue(task));
        const behaviours = expert.behaviours.filter((name) => !chosen.includes(name));
        const lazy = behaviours.map((name): [string, Lazy] => [
          name,
          expert.always?.includes(name) && draw(name).chance(0.5) ? "always" : "never",
        ]);
        const { messages, score } = expert.play(task, Object.fromEntries(lazy));
        const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
        const isHeld = ({ name, arguments: args }: ToolCall) =>
          !(name in arguments_) ||
          Object.values(args).includes(draw(name).pick<string>(arguments_[name as keyof typeof arguments_]));
        return score.reward === 1 && calls.every(isHeld) ? 1 : 0;
      }),
    );
  });
  expect(Math.max(...successes)).toBeLessThan(0.3);
});

test("the knowledge world gives nothing away either", async () => {
  const environment = createEnvironment("knowledge", {});
  const report = await checkEnvironment(environment, { seed: 1, tasks: 160, trainingTasks: 300, rollout });
  expect(report.expert?.mean).toBe(1);
  expect(report.policies.length).toBeGreaterThanOrEqual(15);
  expect(report.policies.filter(({ success }) => success.mean > 0.15)).toEqual([]);
  expect(report.lazy.choices).toHaveLength(7);
  expect(report.lazy.choices.filter(({ success }) => success.low > 0.85)).toEqual([]);
  expect(report.lazy.combined.at(-1)?.success.mean).toBeLessThan(0.15);
  expect(report.overlap.map(({ shared }) => shared)).toEqual([0, 0, 0]);
  expect(report.unchecked).toEqual([expect.stringMatching(/^No argument of search, python is/), "No model was measured."]);
});
