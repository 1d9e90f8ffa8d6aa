import { type AddCommands, judged, withSettings } from "./command-tools.ts";
import { doctorFlags, evaluationFlags, optionName } from "./settings.ts";

/** Adds the command that measures a model. */
export const modelCommands: AddCommands = (program, { screen, errorScreen, exit, examples, subjects }) => {
  const command = judged(withSettings(program.command("eval"), evaluationFlags))
    .summary("measure a model, compare two")
    .description(
      "Measures a model on tasks of a split, greedily and sampled, with 95 % intervals. --compare pairs two models or evaluations\n" +
        "task by task; --agent measures an agent.",
    )
    .option("--compare <models...>", "two models, runs, or folders of evaluations: the paired difference, second minus first");
  for (const [flag, description] of subjects.flatMap(({ flags }) => flags)) command.option(flag, description);
  command
    .option("--show <n>", "number of episodes to print, those that fail first (default: 1)")
    .option("--resume", "continue the evaluation in --out, or else the newest one that has not finished")
    .option("--judge-prices <list>", 'input,output prices of a million of its tokens, such as "0.4,1.6": the report has its cost')
    .option("--json", "print the report as JSON, and nothing else")
    .addHelpText(
      "after",
      examples(
        "eval",
        "eval --model runs/office-seeupo-1 --split challenge",
        "eval --tasks 64 --k 1 --temperature 0",
        "eval --compare runs/office-seeupo-1 runs/office-grpo-1",
      ),
    )
    .action(async (flags) => {
      const subject = subjects.find((each) => flags[optionName(each.flags[0]?.[0] ?? "")] !== undefined);
      const { evalCommand } = await import("./commands/eval.ts");
      exit(await (subject?.measure ?? evalCommand)(flags, screen, errorScreen));
    });
};

/** Adds the command that checks this machine. */
export const doctorCommands: AddCommands = (program, { screen, exit }) => {
  withSettings(program.command("doctor"), doctorFlags)
    .summary("check this machine and a model")
    .description("Checks this machine and a model (folder, chat template, memory, sampling), and suggests fixes.")
    .option("--play", "also play a few episodes, and say what a step, an evaluation and the run will cost")
    .option("--json", "print what was found as JSON")
    .action(async (flags) => {
      const { doctorCommand } = await import("./commands/doctor.ts");
      exit(await doctorCommand(flags, screen));
    });
};
