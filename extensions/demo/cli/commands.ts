import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";

export const demoCommands: AddCommands = (program, { screen, exit, examples }) => {
  debuggable(program.command("demo"))
    .summary("train a published model, on this machine")
    .description(
      "Downloads SmolLM2-135M-Instruct (98 MB), teaches it the form of answers, trains it by GRPO, and measures it on unseen " +
        "tasks and wordings. Called again, it continues.",
    )
    .argument("<model>", "smollm2")
    .option("--task <name>", "calculation, or calculator, which is called", "calculation")
    .option("--model <name>", "another model, as in `train`")
    .option("--seed <n>", "decides all that is random", "1")
    .option("--threads <n>", "CPU threads")
    .option("--out <folder>", "folder of both runs; if left out, one of the task and the seed under runs/")
    .option("--no-dashboard", "do not start the dashboard beside it")
    .addHelpText("after", examples("demo smollm2", "demo smollm2 --task calculator"))
    .action(async (model, flags) => {
      const { demoCommand } = await import("./demo.ts");
      exit(await demoCommand(model, flags, screen));
    });
};
