import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTraining } from "../../../src/cli/commands/train.ts";
import { wholeNumber } from "../../../src/cli/numbers.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { layout, runsFolder } from "../../../src/runs/layout.ts";
import { readSummary } from "../../../src/runs/read.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { demoTasks, recipes } from "../recipe.ts";

export interface DemoFlags {
  readonly task: string;
  readonly model?: string;
  readonly seed: string;
  readonly threads?: string;
  readonly out?: string;
  /** False with --no-dashboard. */
  readonly dashboard?: boolean;
}

/**
 * Trains a published model: form by demonstrations, then reinforcement, played before and after.
 * @param train makes a run
 * @returns the exit code
 */
export async function demoCommand(name: string, flags: DemoFlags, screen: Screen, train = runTraining): Promise<number> {
  if (name !== "smollm2") throw new ConfigError("demo", name, { expected: ["smollm2"] });
  const seed = wholeNumber("--seed", flags.seed, 0);
  const threads = flags.threads === undefined ? {} : { threads: wholeNumber("--threads", flags.threads) };
  const task = demoTasks.find((each) => each === flags.task);
  if (task === undefined) throw new ConfigError("--task", flags.task, { expected: demoTasks });
  const { form, reinforcement } = recipes[task];
  const folder = flags.out ?? join(runsFolder, `demo-${name}-${flags.task}-${seed}`);
  const runs = { form: join(folder, "form"), reinforcement: join(folder, "reinforcement") };
  const model = flags.model ?? name;
  const play = (what: UserConfig, out: string, from: string): Promise<number> => {
    // The limit of memory is that of the model that is fetched.
    const limits = flags.model === undefined ? {} : { memory: undefined, maxLength: undefined };
    const user: UserConfig = { ...what, seed, model: from, out, engine: { ...(what.engine as object), ...limits, ...threads } };
    return train(user, { out }, { resume: isBegun(out), dashboard: flags.dashboard }, screen);
  };
  if (!isFinished(runs.form)) {
    screen.line("1. The form of an answer, by demonstrations of which many choose wrong");
    const code = await play(form, runs.form, model);
    if (code !== 0) return code;
  }
  screen.line("2. The right choices, by reinforcement: played before and after on tasks that training does not see");
  return play(reinforcement, runs.reinforcement, runs.form);
}

const isBegun = (run: string) => existsSync(layout.run(run));
const isFinished = (run: string) => isBegun(run) && readSummary(run) !== undefined;
