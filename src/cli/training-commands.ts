import { type AddCommands, debuggable, withSettings } from "./command-tools.ts";
import { agentFlags, supervisedFlags, trainFlags } from "./settings.ts";

/** Adds the commands that start a task or train a model. */
export const trainingCommands: AddCommands = (program, { screen, exit, examples }) => {
  debuggable(program.command("init"))
    .summary("start a task of your own")
    .description("Writes a folder that runs: an environment with tools and a reward, a configuration, and a test.")
    .argument("[folder]", "a new folder", "my-task")
    .addHelpText("after", examples("init my-task"))
    .action(async (folder) => {
      const { initCommand } = await import("./commands/init.ts");
      initCommand(folder, screen);
    });

  withSettings(program.command("train"), trainFlags)
    .summary("train a model in an environment")
    .description(
      "Trains a model by reinforcement learning on an environment's tasks. Without options: the default model in the office.",
    )
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option("--allow-changed", "with --resume: continue over tasks, data or code that have changed since the run began")
    .option(
      "--replay <folder>",
      "a new run under that run's configuration, with the changes that were made to it while it went on",
    )
    .option("--dry-run", "print every setting, where it is from, and what the engine lacks for it; start nothing")
    .option("--no-dashboard", "do not start the dashboard beside it")
    .option("--open", "open the dashboard in the browser")
    .addHelpText(
      "after",
      examples(
        "train",
        "train --algorithm grpo --steps 20 --out runs/short",
        "train --set evaluation.tasks=64 --set rollout.temperature=0.9",
        "train --resume --out runs/short",
      ),
    )
    .action(async (flags) => {
      const { trainCommand } = await import("./commands/train.ts");
      exit(await trainCommand(flags, screen));
    });

  withSettings(program.command("train-agent"), agentFlags)
    .summary("train the model of an agent that exists")
    .description(
      "Trains the model that an agent calls. The agent is a module that exports (prompt) => answer, or a program behind --, which\n" +
        "reads its task as JSON and prints its answer. A fifth of the tasks is held out for measuring.",
    )
    .argument("<agent...>", "a module, or a program and its arguments")
    .option("--tasks <file>", "JSON lines, each an object with a prompt and what the reward needs")
    .option("--reward <file>", "a module whose default export is ({ task, answer }) => number")
    .option(
      "--teacher <who>",
      "demonstrations first, of NAME@ADDRESS or the module of a scripted expert; the same command continues",
    )
    .option("--demonstrations <n>", "with --teacher: the tasks that it plays (default: half, at most 100)")
    .option("--keep <rule>", "with --teacher: the episodes that are learned from (default: reward >= 1)")
    .option("--sft-steps <n>", "with --teacher: steps on demonstrations (default: 40)")
    .option("--prices <list>", "with --teacher: its input,output prices of a million tokens")
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option("--allow-changed", "with --resume: continue over tasks, data or code that have changed since the run began")
    .option("--no-dashboard", "do not start the dashboard beside it")
    .option("--open", "open the dashboard in the browser")
    .addHelpText(
      "after",
      examples(
        "train-agent ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --model Qwen/Qwen3-0.6B",
        "train-agent ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --model smollm2 --teacher gpt-5-mini@https://api.openai.com/v1",
        "train-agent --tasks tasks.jsonl --reward ./reward.ts -- python agent.py",
      ),
    )
    .action(async (agent, flags) => {
      const { trainAgentCommand } = await import("./commands/train-agent.ts");
      exit(await trainAgentCommand(agent, flags, screen));
    });

  debuggable(program.command("record"))
    .summary("record demonstrations of an agent with a strong model")
    .description(
      "Plays an agent's training tasks with a strong model or a scripted expert, and writes the conversations for sft --data.\n" +
        "The key is OPENAI_API_KEY. A second call with the same --out continues.",
    )
    .argument("<agent...>", "a module, or a program and its arguments")
    .option("--tasks <file>", "JSON lines, each an object with a prompt and what the reward needs")
    .option("--reward <file>", "a module whose default export is ({ task, answer }) => number")
    .option("--model <teacher>", "NAME@ADDRESS at a server of the chat-completions protocol, or the module of a scripted expert")
    .option("--keep <rule>", "which episodes are written", "reward >= 1")
    .option("--out <file>", "the demonstrations; all attempts are in a file beside it", "demos.jsonl")
    .option("--k <n>", "attempts at each task (default: 1)")
    .option("--concurrency <n>", "attempts at the same time (default: 4)")
    .option("--timeout <seconds>", "the time of one attempt (default: 120)")
    .option("--prices <list>", 'input,output prices of a million tokens, such as "0.4,1.6": the report has the cost')
    .addHelpText(
      "after",
      examples("record ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --model gpt-5-mini@https://api.openai.com/v1"),
    )
    .action(async (agent, flags) => {
      const { recordCommand } = await import("./commands/record.ts");
      exit(await recordCommand(agent, flags, screen));
    });

  withSettings(program.command("sft"), supervisedFlags, { kind: "sft" })
    .summary("teach a model by demonstrations")
    .description("Supervised fine-tuning on conversations from a JSONL file, or by the environment's expert.")
    .option("--resume", "continue the run in --out, or else the newest one that has not finished")
    .option("--allow-changed", "with --resume: continue over tasks, data or code that have changed since the run began")
    .option("--no-dashboard", "show no dashboard beside the run")
    .addHelpText(
      "after",
      examples("sft --data conversations.jsonl --model Qwen/Qwen3-0.6B", "sft --config retrograde.config.ts --steps 100"),
    )
    .action(async (flags) => {
      const { sftCommand } = await import("./commands/sft.ts");
      exit(await sftCommand(flags, screen));
    });
};
