import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError } from "../../../src/core/errors.ts";
import { plural } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { fromPromptfoo } from "../promptfoo.ts";
import { openAiRft, readJob } from "../rft/job.ts";

export interface ImportFlags {
  readonly model: string;
  readonly out: string;
}

interface Imported {
  readonly name: string;
  readonly tasks: number;
  /** The settings of the training, beside the model. */
  readonly settings: object;
  /** Settings without a counterpart. */
  readonly dropped: readonly string[];
}

const kinds: Readonly<Record<string, (files: readonly string[]) => Imported | Promise<Imported>>> = {
  "openai-rft": ([job = "", data]) => {
    if (data === undefined) throw new ConfigError("import openai-rft", job, { expected: "job.json and train.jsonl" });
    const tasks = openAiRft(job, data).tasks.length;
    return { name: "openAiRft", tasks, ...settingsOf(readJob(job).hyperparameters ?? {}, tasks) };
  },
  promptfoo: async ([file = ""]) => ({
    name: "fromPromptfoo",
    tasks: (await fromPromptfoo(file)).tasks.length,
    settings: {},
    dropped: [],
  }),
};

/** Checks an evaluation and writes a file that trains on it. @throws ConfigError for a file that cannot be used, or that exists already */
export async function importCommand(kind: string, files: readonly string[], flags: ImportFlags, screen: Screen): Promise<void> {
  const read = kinds[kind];
  if (read === undefined) throw new ConfigError("import", kind, { expected: Object.keys(kinds) });
  if (existsSync(flags.out)) throw new ConfigError("--out", flags.out, { expected: "a file that does not exist yet" });
  const { name, tasks, settings, dropped } = await read(files);
  const paths = files.map((file) => JSON.stringify(resolve(file))).join(", ");
  const rest = Object.entries({ model: flags.model, ...settings }).map(([key, value]) => `  ${key}: ${JSON.stringify(value)},\n`);
  const call = `${name === "fromPromptfoo" ? "await " : ""}${name}(${paths})`;
  writeFileSync(
    flags.out,
    `import { trainAgent } from "retrograde-rl";
import { ${name} } from "retrograde-rl/evals";

const training = {
  ...${name === "fromPromptfoo" ? `(${call})` : call},
${rest.join("")}};
await trainAgent(training, { print: true });
`,
  );
  screen.line(`${plural(tasks, "task")}; a fifth of five or more is kept for measuring.`);
  for (const setting of dropped) screen.line(`Not taken over: ${setting}`);
  screen.line(`Wrote ${flags.out}. Train: npx jiti ${flags.out}`);
}

/** Settings of RFT as those of a run; what the service chose by itself, "auto", is left to the defaults. */
function settingsOf(
  { n_epochs: epochs, batch_size: batch, eval_samples: samples, ...others }: Readonly<Record<string, unknown>>,
  tasks: number,
): Pick<Imported, "settings" | "dropped"> {
  const size = typeof batch === "number" ? batch : undefined;
  const steps = typeof epochs === "number" ? Math.ceil((epochs * tasks) / (size ?? 16)) : undefined;
  return {
    settings: {
      ...(steps === undefined ? {} : { steps }),
      ...(size === undefined ? {} : { rollout: { tasksPerStep: size } }),
      ...(typeof samples === "number" ? { evaluation: { k: samples } } : {}),
    },
    dropped: Object.entries(others).flatMap(([name, value]) => (value === "auto" ? [] : [`${name} ${JSON.stringify(value)}`])),
  };
}
