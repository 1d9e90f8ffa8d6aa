import { type AddCommands, judged, withSettings } from "./command-tools.ts";
import { chatFlags, doctorFlags, evaluationFlags } from "./settings.ts";

/** Adds the commands that measure a model, or talk to it. */
export const modelCommands: AddCommands = (program, { screen, errorScreen, exit, examples }) => {
  judged(withSettings(program.command("eval"), evaluationFlags))
    .summary("measure a model, compare two")
    .description(
      "Measures a model on tasks of a split, greedily and sampled, with 95 % intervals. --compare pairs two models or evaluations\n" +
        "task by task; --agent measures an agent.",
    )
    .option("--compare <models...>", "two models, runs, or folders of evaluations: the paired difference, second minus first")
    .option(
      "--agent <file>",
      "measure an agent, as train-agent trains it, on --tasks FILE with --reward FILE; see docs/agents.md",
    )
    .option("--reward <file>", "of --agent: a module whose default export is ({ task, answer }) => number")
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
      const { evalCommand } = await import("./commands/eval.ts");
      exit(await evalCommand(flags, screen, errorScreen));
    });

  withSettings(program.command("chat"), chatFlags)
    .summary("talk to a model")
    .description("Talks to a model, which uses the environment's tools. Reads lines from a terminal or a pipe.")
    .addHelpText("after", examples("chat", "chat --model runs/office-seeupo-1 --temperature 0"))
    .action(async (flags) => {
      const { chatCommand } = await import("./commands/chat.ts");
      exit(await chatCommand(flags, screen));
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
