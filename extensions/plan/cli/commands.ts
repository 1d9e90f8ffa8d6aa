import { type AddCommands, debuggable, withSettings } from "../../../src/cli/command-tools.ts";
import { doctorFlags } from "../../../src/cli/settings.ts";

/** Adds the commands that say what training costs: a step of it on a cluster, and what fits here. */
export const planCommands: AddCommands = (program, { screen, examples }) => {
  debuggable(program.command("plan"))
    .summary("what a training step costs on a number of GPUs")
    .description(
      "Estimates time, memory and traffic of one training step, with bounds where it guesses, and what other choices would cost " +
        "(docs/scale.md). Starts nothing.",
    )
    .option("--config <file>", "take model, algorithm, batch and turns from a configuration")
    .option("--model <name>", "a known model, or a folder with config.json (default: Qwen/Qwen3-14B)")
    .option("--gpu <kind>", "h100, h200, a100, l40s or cpu (default: h100)")
    .option("--gpus <list>", "numbers of GPUs, such as 8,16,64 (default: 8)")
    .option("--gflops <n>", "of a cpu's matrix products, as doctor measures (default: 100)")
    .option("--engine <kind>", "server, or local, which computes shared prefixes once (default: server)")
    .option("--algorithm <kind>", "seeupo or grpo (default: seeupo)")
    .option("--tasks <n>", "tasks of a step (default: 32)")
    .option("--group <n>", "rollouts of a task (default: 8)")
    .option("--turns <n>", "turns of a rollout (default: 10)")
    .option("--prompt <tokens>", "of the first context (default: 3000)")
    .option("--action <tokens>", "that the model writes in a turn (default: 400)")
    .option("--observation <tokens>", "that the environment answers (default: 300)")
    .option("--dropped <tokens>", "of an action that later contexts do not have, such as thoughts (default: 0)")
    .option("--longest <factor>", "sampled tokens of the longest rollout, relative to the mean (default: 1.2 to 2)")
    .option("--tool-seconds <s>", "of a tool call (default: 0.5)")
    .option("--kl", "with a reference")
    .option("--mini-batches <n>", "optimiser steps of a batch, except SeeUPO's (default: 1)")
    .option("--rank <n>", "of a LoRA adapter; 0 trains all weights (default: 0)")
    .option("--offload", "weights and optimiser wait in the machine's memory while the model samples")
    .option("--no-recompute", "keep all activations")
    .option("--micro-batch <tokens>", "on one GPU (default: 16384)")
    .option("--tensor-parallel <n>", "GPUs that hold one copy of the sampler (default: 1)")
    .option("--calibration", "print measured steps beside their estimates instead")
    .option("--json", "print JSON, times in seconds and sizes in bytes")
    .addHelpText(
      "after",
      examples(
        "plan --gpus 8,16,64",
        "plan --config recipes/papers/qwen3-14b-appworld-seeupo.ts --gpus 16",
        "plan --calibration",
      ),
    )
    .action(async (flags) => {
      const { planCommand } = await import("./plan.ts");
      await planCommand(flags, screen);
    });

  withSettings(program.command("advise [agent...]"), doctorFlags)
    .summary("which model, here or on a cluster, and what next")
    .description(
      "Plays a few episodes with a model before any training, and says whether it makes tool calls and finds rewards that differ, which\n" +
        "published models can be trained in the memory and the time there is, and what to do next. Of an agent too, as train-agent takes it.",
    )
    .option("--tasks <file>", "of an agent: JSON lines, each with a prompt")
    .option("--reward <file>", "of an agent: a module whose default export is ({ task, answer }) => number")
    .option("--memory <GiB>", "that training may take (default: what is available)")
    .option("--hours <n>", "that the run may take (default: 8)")
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      examples("advise --env office", "advise agent.ts --tasks tasks.jsonl --reward reward.ts --model Qwen/Qwen3-0.6B"),
    )
    .action(async (agent, flags) => {
      const { adviseCommand } = await import("./advise.ts");
      await adviseCommand(agent, flags, screen);
    });
};
