import { expect, test } from "vitest";
import { resolveConfig } from "../../../src/training/config/config.ts";
import type { Chances } from "../advice.ts";
import {
  choiceLines,
  firstTrial,
  fittingLines,
  holeLines,
  type Machine,
  nextOf,
  type Timed,
  trialLines,
} from "./advise-lines.ts";

const GiB = 2 ** 30;
const hour = 3600;
const small: Timed = {
  ...{ name: "smollm2", licence: "Apache-2.0", callsTools: false, parameters: 134.5e6, form: "itself" },
  ...{ bytes: 3.3 * GiB, seconds: hour },
};
const large: Timed = {
  ...{ name: "qwen2.5-0.5b", licence: "Apache-2.0", callsTools: true, parameters: 494e6, form: "an adapter" },
  ...{ bytes: 0.5 * GiB, seconds: 9 * hour },
};
const machine: Machine = {
  ...{ bytes: 4 * GiB, length: 1024, time: 9 * hour, steps: 200 },
  ...{ gflops: 1234, provider: "cpu", load: undefined },
};
const config = (more: object = {}) => resolveConfig({ environment: "letters", ...more } as never);
const agent = (name: string, options: string) => `COMMAND ${name} agent.ts${options}`;

test("the models to choose from have a row each, and one that takes longer than there is says so", () => {
  expect(choiceLines([small, large], machine)).toEqual([
    "Published models that can be trained in 4.0 GiB, at 1,024 tokens. The run: 200 steps, a rough guess from this machine's 1,234 GFLOP/s (cpu); --model NAME measures it",
    "  model          size  what is trained    memory     the run        calls tools     licence",
    "  smollm2       135 M           itself   3.3 GiB  1 h 00 min  by demonstrations  Apache-2.0",
    "  qwen2.5-0.5b  494 M       an adapter  0.50 GiB  9 h 00 min         trained to  Apache-2.0",
  ]);
  const [busy, , , late] = choiceLines([small, large], { ...machine, time: 9 * hour - 1, load: "40 % of other programs" });
  expect(busy).toContain("1,234 GFLOP/s (cpu, with 40 % of other programs: a quiet machine is faster); --model");
  expect(late).toMatch(/ {2}9 h 00 min, too long {2}/);
  const none = ["No published model that is listed here can be trained in 4.0 GiB."];
  expect(choiceLines([], machine)).toEqual(none);
  expect(fittingLines([], hour, machine)).toEqual(none);
});

test("models that fit have the time by the episodes that were played", () => {
  expect(fittingLines([small, large], hour, { bytes: 4 * GiB, steps: 1 })).toEqual([
    "Published models that can be trained in 4.0 GiB; 1 step without evaluations, by the episodes above and the models' sizes",
    "  model          size  what is trained    memory                     the run",
    "  smollm2       135 M           itself   3.3 GiB            about 1 h 00 min",
    "  qwen2.5-0.5b  494 M       an adapter  0.50 GiB  about 9 h 00 min, too long",
  ]);
});

test("holes of a reward are lines of their own", () => {
  expect(holeLines([])).toEqual([]);
  expect(holeLines(["a", "b"])).toEqual(["", "! a", "! b"]);
});

test("the first trial is of the smallest that calls tools and is in time, or the smallest is taught", () => {
  const first = (fitting: readonly Timed[], time: number, of?: typeof agent) => firstTrial(fitting, time, of, "office");
  expect(first([small, large], 9 * hour, agent)).toBe(
    "play a few episodes with one: COMMAND advise agent.ts --model qwen2.5-0.5b",
  );
  expect(first([small, large], 9 * hour - 1, agent)).toBe(
    "the smallest was not trained to call tools: demonstrations first, of a strong model or of a script such as ./expert.ts: " +
      "COMMAND train-agent agent.ts --model smollm2 --teacher gpt-5-mini@https://api.openai.com/v1",
  );
  expect(first([large], 0, agent)).toContain("COMMAND advise agent.ts --model qwen2.5-0.5b");
  expect(first([small], hour)).toBe("play a few episodes with one: npx retrograde-rl advise --env office --model smollm2");
  expect(first([], hour, agent)).toBe("a machine with more memory, or a model on a cluster (docs/tinker.md).");
});

const chances: Chances = {
  ...{ episodes: 16, failures: [], calls: 1200, invalidCalls: 3, successes: 4, groups: 1, withSignal: 1, longest: 1800 },
  verdict: "learns",
};
const trial = {
  cost: { episodes: 16, tokensPerEpisode: 40.4, samplingPerStep: 2, trainingPerStep: 3, evaluation: 9, whole: 600 },
  groups: [],
};

test("a trial's lines: calls where there are tools, success, signal, length, time and the first two failures", () => {
  expect(trialLines(chances, trial, true)).toEqual([
    "16 episodes, at temperature 1, before any training",
    "  calls            1,200 of tools, 3 of them not readable or not valid",
    // Clopper and Pearson's interval of 4 of 16.
    "  success                                          25.0 %  [7.2, 52.4]",
    "  signal   1 of 1 group of attempts at one task have different rewards",
    "  length       40 sampled tokens an episode, the longest context 1,800",
    "  time                               5.0 s a step, 10 min 00 s the run",
  ]);
  expect(trialLines({ ...chances, calls: 0 }, trial, true)[1]).toMatch(/^ {2}calls +none: no tool was called$/);
  const failed = trialLines({ ...chances, episodes: 1, failures: ["a", "b", "c"] }, trial, false);
  expect(failed[0]).toBe("1 episode, at temperature 1, before any training");
  expect(failed.map((line) => line.trim().split(/ {2,}/)[0]).slice(1)).toEqual([
    ...["success", "signal", "length", "time", "failed", "failed"],
  ]);
  expect(failed.slice(-2).map((line) => line.trim().split(/ {2,}/)[1])).toEqual(["a", "b"]);
});

test.each<[Chances["verdict"], Timed | undefined, typeof agent | undefined, object, string]>([
  ["learns", undefined, undefined, {}, "it can learn here. npx retrograde-rl train --env letters"],
  ["learns", undefined, undefined, { model: "a b" }, "it can learn here. npx retrograde-rl train --env letters --model 'a b'"],
  ["learns", undefined, agent, { model: "m" }, "it can learn here. COMMAND train-agent agent.ts --model m"],
  ["too-easy", large, agent, {}, "nearly every attempt succeeds already. Take harder tasks."],
  [
    ...(["no-signal", large, agent, {}] as const),
    "attempts at one task end alike. Take larger groups (rollout.groupSize) or tasks of middle difficulty.",
  ],
  [
    ...(["too-hard", undefined, undefined, { model: "m" }] as const),
    "no attempt succeeds, so nothing can be learned. Take a stronger model on a cluster; or easier tasks, partial rewards, or " +
      "npx retrograde-rl sft --env letters --model m, on a few demonstrations.",
  ],
  [
    ...(["format", large, agent, { model: "m" }] as const),
    "it does not call the tools in a form that can be read, so reinforcement has nothing to begin with. Teach the form: demonstrations " +
      "first, of a strong model or of a script such as ./expert.ts: COMMAND train-agent agent.ts --model m --teacher " +
      "gpt-5-mini@https://api.openai.com/v1; or take a stronger model, of those in time qwen2.5-0.5b (an adapter).",
  ],
  ["fails", large, agent, {}, "most episodes failed (no server). Mend that first."],
])("after the verdict %s comes", (verdict, stronger, of, settings, text) => {
  const found = { ...chances, verdict, failures: verdict === "fails" ? ["no server", "x"] : [] };
  expect(nextOf(found, stronger, config(settings), of)).toBe(`Next: ${text}`);
});
