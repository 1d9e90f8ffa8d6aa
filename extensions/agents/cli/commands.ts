import { type AddCommands, debuggable, type EvalSubject, trusting, withRunSettings } from "../../../src/cli/command-tools.ts";
import { withModes } from "../../../src/cli/modes.ts";
import { agentFlags } from "../../../src/cli/settings.ts";

const ofTeachers = ["demonstrations", "keep", "sftSteps", "sftLearningRate", "prices"];

/** Adds the commands that train an agent, and record one with a strong model. */
export const agentCommands: AddCommands = (program, tools) => {
  for (const add of [training, recording, rescoring]) add(program, tools);
};

const training: AddCommands = (program, { screen, exit, examples }) => {
  const trainAgent = withModes(
    withRunSettings(program.command("train-agent"), agentFlags),
    { with: ["teacher", "open"], ignores: ["resume", "allowChanged", "dashboard"] },
    { with: ["teacher"], ignores: ["resume", "allowChanged"] },
    { with: ["resume", "open"], ignores: ["dashboard", ...ofTeachers] },
    { with: ["resume"], ignores: ofTeachers },
    { with: ["open"], ignores: ["dashboard", "allowChanged", ...ofTeachers] },
    { with: [], ignores: ["allowChanged", ...ofTeachers] },
  );
  trainAgent
    .summary("train the model of an agent that exists")
    .description(
      "Trains the model that an agent calls. The agent is a module that exports (prompt) => answer, or a program behind --, which " +
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
    .option("--sft-learning-rate <x>", "with --teacher: AdamW's on demonstrations (default: --learning-rate)")
    .option("--prices <list>", "with --teacher: its input,output prices of a million tokens")
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
      const { trainAgentCommand } = await import("./train-agent.ts");
      exit(await trainAgentCommand(agent, flags, screen));
    });
};

const recording: AddCommands = (program, { screen, exit, examples }) => {
  debuggable(program.command("record"))
    .summary("record demonstrations of an agent with a strong model")
    .description(
      "Plays an agent's training tasks with a strong model or a scripted expert, and writes the conversations for sft --data. " +
        "The key is OPENAI_API_KEY. A second call with the same --out continues.",
    )
    .argument("<agent...>", "a module, or a program and its arguments")
    .option("--tasks <file>", "JSON lines, each an object with a prompt and what the reward needs")
    .option("--reward <file>", "a module whose default export is ({ task, answer }) => number")
    .option("--teacher <who>", "NAME@ADDRESS at a server of the chat-completions protocol, or the module of a scripted expert")
    .addOption(program.createOption("--model <who>", "another name of --teacher").conflicts("teacher"))
    .option("--keep <rule>", "which episodes are written", "reward >= 1")
    .option("--out <file>", "the demonstrations; all attempts are in a file beside it", "demos.jsonl")
    .option("--k <n>", "attempts at each task (default: 1)")
    .option("--concurrency <n>", "attempts at the same time (default: 4)")
    .option("--timeout <seconds>", "the time of one attempt (default: 120)")
    .option("--prices <list>", 'input,output prices of a million tokens, such as "0.4,1.6": the report has the cost')
    .addHelpText(
      "after",
      examples("record ./agent.ts --tasks tasks.jsonl --reward ./reward.ts --teacher gpt-5-mini@https://api.openai.com/v1"),
    )
    .action(async (agent, flags) => {
      const { recordCommand } = await import("./record.ts");
      exit(await recordCommand(agent, { teacher: flags.model, ...flags }, screen));
    });
};

const rescoring: AddCommands = (program, { screen, errorScreen, exit, examples }) => {
  trusting(debuggable(program.command("rescore")))
    .summary("give recorded episodes another reward, and see what it changes")
    .description(
      "Scores the episodes of a run or an evaluation by another reward, and compares it with the recorded one, task by task.",
    )
    .argument("<folder>", "the run's or evaluation's folder")
    .option("--reward <file>", "a module whose default export is a reward, a list of them, or ({ task, answer }) => number")
    .option("--marks", "what people marked in the dashboard, instead of --reward: how far the recorded reward agrees with them")
    .option("--step <n>", "training episodes of one step (default: of all)")
    .option("--split <name>", "the attempts of the newest evaluation on this split instead")
    .option("--pass <reward>", "a reward of so much passes", "1")
    .option("--show <n>", "the number of episodes to read that are listed", "10")
    .option("--tasks <file>", "of a run of train-agent: the tasks that it had")
    .option("--no-tasks", "open no environment: the reward sees a task's id alone")
    .option("--config <file>", "where an environment of your own is (default: retrograde.config.ts, if it is there)")
    .option("--json", "print everything as JSON")
    .addHelpText(
      "after",
      examples("rescore runs/office-seeupo-1 --reward brief.ts --split test", "rescore runs/office-seeupo-1 --marks"),
    )
    .action(async (folder, flags) => {
      const { rescoreCommand } = await import("./rescore.ts");
      exit(await rescoreCommand(folder, flags, screen, errorScreen));
    });
};

/** An agent, as `eval` measures it. */
export const agentSubject: EvalSubject = {
  flags: [
    [
      "--agent <file>",
      'measure an agent, as train-agent trains it, on --tasks FILE with --reward FILE; a program in quotes: "python agent.py"',
    ],
    ["--reward <file>", "of --agent: a module whose default export is ({ task, answer }) => number"],
  ],
  measure: async (flags, output, notes) => {
    const { evalAgentCommand } = await import("./eval-agent.ts");
    return evalAgentCommand(flags.agent ?? "", flags, output, flags.json === true ? notes : output);
  },
};
