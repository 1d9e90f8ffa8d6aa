import { expect, test } from "vitest";
import { invoke } from "./command-line.ts";

const noRun = (folder: string) =>
  `${folder} is "no run"; expected a folder with a run.json. \`retrograde-rl runs\` lists the runs that are there.`;
const noTasks = '--tasks is "none"; expected a file of JSON lines, each with a prompt.';
const agent =
  'the environment is "agent.ts"; expected the name of one, such as office. An agent is checked by `npx retrograde-rl check agent.ts --tasks ' +
  "tasks.jsonl --reward reward.ts`.";

/** Each command leads to its own work with its arguments, as what it says of wrong ones shows. */
test.each<[string, number, string]>([
  ["dashboard none", 2, 'the folder is "none"; expected a folder of runs, or of one run.'],
  ["dashboard --port x", 2, '--port is "x"; expected a number from 0 to 65535.'],
  ["doctor --set steps=x", 2, 'steps is "x"; expected a number.'],
  ["check agent.ts", 2, noTasks],
  ["advise agent.ts", 2, noTasks],
  ["advise --memory x", 2, '--memory is "x"; expected a number above 0.'],
  ["scan agent.ts", 2, agent],
  ["env check agent.ts", 2, agent],
  ["chat --config none.ts", 2, '--config is "none.ts"; expected a file that exports a configuration.'],
  ["runs entropy none", 1, noRun("none")],
  ["runs compare none-a none-b", 1, noRun("none-a")],
  ["runs seeds none-a none-b", 1, noRun("none-a")],
  ["runs export none --format xml", 1, noRun("none")],
  ["runs model none --out x", 1, noRun("none")],
  ["trajectory none step-1/0/0", 1, noRun("none")],
  ["train-agent agent.ts", 2, noTasks],
  [
    "record agent.ts --tasks t.jsonl",
    2,
    "--reward is missing; expected a module whose default export is a function of { task, answer }.",
  ],
  ["rescore none --reward r.ts --pass x", 2, '--pass is "x"; expected a number.'],
  ["rescore none", 2, '--reward and --marks is "neither"; expected one of them.'],
  ["eval --agent agent.ts", 2, noTasks],
])("retrograde %s", async (line, exitCode, message) => {
  expect(await invoke(...line.split(" "))).toEqual({ exitCode, error: `error: ${message}\n`, out: "" });
});
