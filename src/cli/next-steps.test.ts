import { join } from "node:path";
import { expect, test } from "vitest";
import type { Environment } from "../environments/environment.ts";
import { conversationsAlone } from "../sdk/run-environment.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { nextSteps, type RunState, trainingCommand } from "./next-steps.ts";

interface Run extends Partial<Omit<RunState, "plan">> {
  readonly config?: UserConfig;
  readonly environment?: Partial<Environment>;
}

const learned = { metrics: { reward: 0.5, success: 0.5 } };
const silent = { metrics: { reward: 0, success: 0 } };

/** The commands that follow the two of every run, without the program's name. */
async function after({ config = {}, environment = {}, summary, metrics = [learned], flags = {} }: Run) {
  const resolved = resolveConfig({ environment: "office", algorithm: "grpo", model: "m" }, config);
  const plan = {
    config: resolved,
    folder: join(process.cwd(), "runs/a b"),
    environment: { name: resolved.environment.name, splits: ["train", "test"], size: () => 0, ...environment } as Environment,
  };
  const steps = await nextSteps({ plan, summary: { after: null, ...summary }, metrics, flags });
  const texts = steps.map(([command, why]) => `${command.replace(/^.*?retrograde(?:-rl)? (?:-- )?/, "")} # ${why}`);
  expect(texts.slice(0, 2)).toEqual([
    "dashboard --open # look at it: curves, episodes, and why each token moved",
    "runs show 'runs/a b' # every step and metric",
  ]);
  return texts.slice(2);
}

const chat = "chat --model 'runs/a b' # talk to the trained model";
const agent = { agent: ["./my agent.ts"], tasks: "tasks.jsonl", reward: "./reward.ts" };
const files = "--tasks tasks.jsonl --reward ./reward.ts";
const measured = `eval --agent './my agent.ts' ${files} --k 4 --compare m 'runs/a b' # measure the agent with both models, task by task`;
const larger = `advise ${files} -- './my agent.ts' # or a larger model: those that fit this machine`;

test.each<[string, Run, readonly string[]]>([
  ["another algorithm", {}, [chat, "train --algorithm seeupo # the same with another algorithm"]],
  [
    "GRPO behind SeeUPO, with the options that were given, but its folder",
    { config: { algorithm: "seeupo" }, flags: { steps: "9", out: "runs/x", set: ["rollout.maxTurns=3"], model: "my model" } },
    [chat, "train --algorithm grpo --model 'my model' --steps 9 --set rollout.maxTurns=3 # the same with another algorithm"],
  ],
  ["none where the algorithm's settings were given", { flags: { set: ["algorithm.klCoef=1"] } }, [chat]],
  ["none of a run that was resumed", { flags: { resume: true } }, [chat]],
  [
    "more attempts where they never differed",
    { summary: { after: null, warnings: { "no-signal": 1 } } },
    [
      chat,
      "train --group-size 16 # in no step did attempts at a task differ: more of them, or tasks that the model solves sometimes",
    ],
  ],
  [
    "another algorithm where they differed in a step",
    { summary: { after: null, warnings: { "no-signal": 1 } }, metrics: [learned, learned] },
    [chat, "train --algorithm seeupo # the same with another algorithm"],
  ],
  [
    "the group's size was given",
    { summary: { after: null, warnings: { "no-signal": 1 } }, flags: { set: ["rollout.groupSize=4"] } },
    [chat],
  ],
  [
    "more attempts, with the settings that were given",
    { summary: { after: null, warnings: { "no-signal": 1 } }, flags: { set: ["evaluation.k=1"], groupSize: "4", strict: true } },
    [
      chat,
      "train --group-size 16 --strict --set evaluation.k=1 # in no step did attempts at a task differ: more of them, or tasks that the model solves sometimes",
    ],
  ],
  [
    "another algorithm, with settings of other parts",
    { flags: { set: ["evaluation.k=1"], algorithm: "grpo", strict: false } },
    [chat, "train --algorithm seeupo --set evaluation.k=1 # the same with another algorithm"],
  ],
  ["without a step", { metrics: [] }, [chat, "train --algorithm seeupo # the same with another algorithm"]],
  [
    "a challenge, and the configuration file",
    {
      environment: { splits: ["test", "challenge"], size: (split) => (split === "challenge" ? 1 : 0) },
      flags: { config: "my config.ts" },
    },
    [
      "chat --model 'runs/a b' --config 'my config.ts' # talk to the trained model",
      "eval --model 'runs/a b' --split challenge --config 'my config.ts' # requests in combinations that it was not trained on",
      "train --algorithm seeupo --config 'my config.ts' # the same with another algorithm",
    ],
  ],
  [
    "an empty challenge",
    { environment: { splits: ["challenge"], size: () => 0 } },
    [chat, "train --algorithm seeupo # the same with another algorithm"],
  ],
  [
    "reinforcement behind demonstrations",
    { config: { algorithm: { kind: "sft", data: "rows.jsonl" } } },
    [chat, "train --model 'runs/a b' # continue by reinforcement learning"],
  ],
  [
    "conversations alone",
    { config: { environment: conversationsAlone, algorithm: { kind: "sft", data: "rows.jsonl" } } },
    [
      "train-agent ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --model 'runs/a b' # continue by reinforcement learning, in the agent that is to have the model",
      "eval --agent ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --model 'runs/a b' # or measure that agent with it",
    ],
  ],
  [
    "nothing was rewarded",
    { metrics: [silent] },
    [
      chat,
      "sft --data demonstrations.jsonl --model m # nothing was rewarded, so nothing was learned: demonstrations first, easier tasks, or a larger model",
    ],
  ],
  [
    "nothing was rewarded in a world with an expert",
    { metrics: [silent], environment: { expert: () => ({ role: "assistant", content: "" }) } as unknown as Partial<Environment> },
    [
      chat,
      "sft --env office --model m # nothing was rewarded, so nothing was learned: demonstrations first, easier tasks, or a larger model",
    ],
  ],
  [
    "nothing was rewarded in a world of a file with demonstrations",
    { metrics: [silent], environment: { demonstrate: () => [] }, flags: { config: "c.ts" } },
    [
      "chat --model 'runs/a b' --config c.ts # talk to the trained model",
      "sft --config c.ts --model m # nothing was rewarded, so nothing was learned: demonstrations first, easier tasks, or a larger model",
    ],
  ],
  [
    "an agent",
    { flags: agent },
    [measured, `train-agent ${files} --algorithm seeupo -- './my agent.ts' # the same with another algorithm`],
  ],
  [
    "a program of several words",
    { flags: { ...agent, agent: ["python", "agent.py"] } },
    [
      `eval --agent 'python agent.py' ${files} --k 4 --compare m 'runs/a b' # measure the agent with both models, task by task`,
      `train-agent ${files} --algorithm seeupo -- python agent.py # the same with another algorithm`,
    ],
  ],
  [
    "a program with a space in a word is not one argument",
    { flags: { ...agent, agent: ["python", "my agent.py"] } },
    [`train-agent ${files} --algorithm seeupo -- python 'my agent.py' # the same with another algorithm`],
  ],
  [
    "an agent without a reward",
    { metrics: [silent], flags: agent },
    [
      measured,
      `train-agent ${files} --model m --teacher gpt-5-mini@https://api.openai.com/v1 -- './my agent.ts' # nothing was rewarded, so nothing was learned: ` +
        "demonstrations of a strong model first (or --teacher ./expert.ts, a script), or easier tasks",
      larger,
    ],
  ],
  [
    "an agent with a teacher and without a reward",
    {
      metrics: [silent],
      flags: { ...agent, teacher: "./expert.ts", sftSteps: "30", demonstrations: "9", sftLearningRate: "0.1" },
    },
    [
      measured,
      `train-agent ${files} --teacher ./expert.ts --sft-steps 60 --sft-learning-rate 0.1 --demonstrations 9 -- './my agent.ts' # nothing was rewarded: more steps on the demonstrations, or easier tasks`,
      larger,
    ],
  ],
  [
    "an agent with a teacher that does the same for all tasks",
    { summary: { after: null, warnings: { "one-behaviour": 1 } }, flags: { ...agent, teacher: "./expert.ts" } },
    [
      measured,
      `train-agent ${files} --teacher ./expert.ts --sft-steps 80 -- './my agent.ts' # the model does the same for all tasks: more steps on the demonstrations, or easier tasks`,
      larger,
    ],
  ],
  [
    "an agent with a teacher: from what its demonstrations gave",
    { flags: { ...agent, teacher: "./expert.ts", model: "smollm2" } },
    [measured, `train-agent ${files} --algorithm seeupo --model m -- './my agent.ts' # the same with another algorithm`],
  ],
])("next: %s", async (_, run, expected) => {
  expect(await after(run)).toEqual(expected);
});

test.each<[string, Run["summary"], readonly { metrics: Record<string, number | null> }[], boolean]>([
  ["a reward in a step", { after: null }, [silent, { metrics: { reward: 0.1 } }], true],
  ["a success in a step", { after: null }, [{ metrics: { reward: null, success: 0.1 } }], true],
  ["a success at the end", { after: { mean: 0.1 } } as Run["summary"], [silent], true],
  ["no success at the end", { after: { mean: 0 } } as Run["summary"], [silent], false],
  ["a punishment alone", { after: null }, [{ metrics: { reward: -1 } }], false],
])("something was rewarded: %s", async (_, summary, metrics, rewarded) => {
  const [, next] = await after({ summary, metrics });
  expect(next?.startsWith("train ")).toBe(rewarded);
});

test("a training command has the agent's files, and the words of its program behind the options", () => {
  expect(trainingCommand("--steps 3", {})).toMatch(/ train --steps 3$/);
  expect(trainingCommand("--steps 3", { agent: ["a b"] })).toMatch(/ train-agent --tasks '' --reward '' --steps 3 -- 'a b'$/);
});
