import { type AddCommands, withSettings } from "./command-tools.ts";
import { withModes } from "./modes.ts";
import { evaluationFlags, optionName } from "./settings.ts";

/** Options of models of this machine. */
const drawn = ["temperature", "seed", "device", "threads"];
const ofModels = ["config", "set", "env", "data", "endpoint", "device", "threads"];

export const modelCommands: AddCommands = (program, { screen, errorScreen, exit, examples, subjects }) => {
  const command = withModes(
    withSettings(program.command("eval"), evaluationFlags),
    {
      with: ["agent", "compare"],
      honours: ["reward", "tasks", "split", "k", "out", "json", "show", ...drawn],
    },
    {
      with: ["agent"],
      honours: ["reward", "tasks", "split", "k", "out", "json", "show", "model", "endpoint", ...drawn],
    },
    { with: ["compare"], honours: [...ofModels, "split", "tasks", "k", "temperature", "seed", "out", "json"] },
    { with: [], ignores: ["reward"] },
  );
  command
    .summary("measure a model, compare two")
    .description(
      "Measures a model on tasks of a split, greedily and sampled, with 95 % intervals. --compare pairs two models or evaluations " +
        "task by task; --agent measures an agent.",
    )
    .option("--compare <models...>", "two models, runs, or folders of evaluations: the paired difference, second minus first");
  for (const [flag, description] of subjects.flatMap(({ flags }) => flags)) command.option(flag, description);
  command
    .option("--show <n>", "number of episodes to print, those that fail first (default: 1)")
    .option("--resume", "continue the evaluation in --out, or else the newest one that has not finished")
    .option("--json", "print the report as JSON, and nothing else")
    .addHelpText(
      "after",
      examples(
        "eval",
        "eval --model runs/first --split challenge",
        "eval --tasks 64 --k 1 --temperature 0",
        "eval --compare runs/first runs/second",
      ),
    )
    .action(async (flags) => {
      const subject = subjects.find((each) => flags[optionName(each.flags[0]?.[0] ?? "")] !== undefined);
      if (subject !== undefined) return exit(await subject.measure(flags, screen, errorScreen));
      const { evalCommand } = await import("./commands/eval.ts");
      exit(await evalCommand(flags, screen, errorScreen));
    });
};
