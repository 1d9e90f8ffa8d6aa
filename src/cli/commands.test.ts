import "../../test/office.ts";
import { Command } from "commander";
import { expect, test } from "vitest";
import { invoke } from "../../test/command-line.ts";
import { createScreen } from "../terminal/screen.ts";
import { commandNamed, type EvalSubject, repeated } from "./command-tools.ts";
import { modelCommands } from "./model-commands.ts";
import { requireHonoured } from "./modes.ts";
import { runCommands } from "./run-commands.ts";
import type { EvalFlags } from "./settings.ts";
import { supervisedCommands, trainingCommands } from "./training-commands.ts";

/** The program with the core's commands, and what its commands did. */
function program() {
  const did: unknown[] = [];
  const [screen, errorScreen] = [createScreen({ write: () => true }), createScreen({ write: () => true })];
  const agent: EvalSubject = {
    flags: [
      ["--agent <file>", "an agent"],
      ["--reward <file>", "its reward"],
    ],
    measure: async (flags: EvalFlags, output, notes) => {
      did.push([flags.agent, flags.reward, output === screen, notes === errorScreen]);
      return 3;
    },
  };
  const made = new Command("retrograde-rl").exitOverride().configureOutput({ writeErr: () => {} });
  const tools = { screen, errorScreen, exit: (code: number) => did.push(code), examples: () => "", subjects: [agent] };
  for (const add of [trainingCommands, supervisedCommands, modelCommands, runCommands]) add(made, tools);
  return { program: made, did };
}

/** The options of a command that are refused beside the given ones. */
const refusing =
  (of = program().program) =>
  (name: string, ...given: readonly string[]): string[] => {
    const command = commandNamed(of, name);
    const isRefused = () => {
      try {
        requireHonoured(command);
        return false;
      } catch {
        return true;
      }
    };
    const set = (option: string, source: "cli" | "default") =>
      command.setOptionValueWithSource(attributeOf(command, option), "1", source);
    for (const option of given) set(option, "cli");
    const others = command.options.map(({ long }) => long ?? "").filter((option) => !given.includes(option));
    const found = others.filter((option) => {
      set(option, "cli");
      const is = isRefused();
      set(option, "default");
      return is;
    });
    for (const option of given) set(option, "default");
    return found;
  };

const attributeOf = (command: Command, option: string) =>
  command.options.find(({ long }) => long === option)?.attributeName() ?? "";

test("options that a way of training would ignore are refused", () => {
  const refused = refusing();
  expect({
    dry: refused("train", "--dry-run"),
    resumedAndOpen: refused("train", "--resume", "--open"),
    resumed: refused("train", "--resume"),
    open: refused("train", "--open"),
    begun: refused("train"),
  }).toEqual({
    dry: ["--allow-changed", "--no-dashboard", "--open"],
    resumedAndOpen: ["--no-dashboard", "--dry-run"],
    resumed: [],
    open: ["--allow-changed", "--no-dashboard", "--dry-run"],
    begun: ["--allow-changed"],
  });
  expect([refused("sft", "--dry-run"), refused("sft", "--resume"), refused("sft")]).toEqual([
    ["--allow-changed", "--no-dashboard"],
    [],
    ["--allow-changed"],
  ]);
});

test("options that a way of measuring would ignore are refused; a permission is none of them", () => {
  const refused = refusing();
  const ofModels = ["--env", "--data", "--config", "--set", "--resume"];
  expect([refused("eval"), refused("eval", "--agent", "x"), refused("eval", "--compare", "x")]).toEqual([
    ["--reward"],
    ofModels,
    ["--model", "--reward", "--show", "--resume"],
  ]);
  expect(refused("eval", "--agent", "x", "--compare", "y")).toEqual(["--model", "--endpoint", ...ofModels]);
});

test("an option of a subject measures it, with the command's flags and both screens", async () => {
  const { program: made, did } = program();
  await made.parseAsync(["eval", "--agent", "a.ts", "--reward", "r.ts"], { from: "user" });
  expect(did).toEqual([["a.ts", "r.ts", true, true], 3]);
});

test("an option that is repeated is a list; a command that is not there is an error", () => {
  expect(repeated("b", repeated("a"))).toEqual(["a", "b"]);
  expect(() => commandNamed(new Command("x"), "train")).toThrow("the command train");
});

/** A help as it is printed. The number of threads is that of the machine. */
async function help(...command: readonly string[]): Promise<string[]> {
  const { out, exitCode } = await invoke(...command, "--help");
  expect(exitCode).toBe(0);
  return out.replace(/(CPU threads \(default: )\d+/, "$1N").split("\n");
}

const modelText = [
  "  --model <name>           a folder in Hugging Face format, a run's folder, smollm2 or another",
  "                           published model (docs/models.md), a name on the Hub (owner/name), or the",
  "                           bundled one (default: default)",
];
const machineText = [
  "  --seed <n>               decides all that is random (default: 1)",
  "  --device <name>          what computes: cpu, webgpu, cuda, or auto (default: cpu)",
  "  --threads <n>            CPU threads (default: N)",
];
const strictText = "  --strict                 end the run at the first warning that nothing is learned";
const runText = "  --out <folder>           folder of the run; if left out, a new one under runs/";
const settingsText = [
  "  --debug                  show where an error comes from",
  "  --allow-unwalled-python  let the Python tool run where this system has no wall of its own around",
  "                           it",
  "  --trust                  let a run, evaluation or model from elsewhere start programs, connect and",
  "                           send keys as its settings say",
  "  --config <file>          settings (default: retrograde.config.ts, if it is there)",
  "  --set <path=value>       any other setting, by its path; may be repeated",
];
const resumeText = [
  "  --resume                 continue the run in --out, or else the newest one that has not finished",
  "  --allow-changed          with --resume: continue over tasks, data or code that have changed since",
  "                           the run began",
  "  --no-dashboard           do not start the dashboard beside it",
  "  --dry-run                print every setting, where it is from, and what the engine lacks for it;",
  "                           start nothing",
];
const helpText = "  -h, --help               display help for command";

test("the help of train: every option, its default, examples", async () => {
  expect(await help("train")).toEqual([
    "Usage: retrograde-rl train [options]",
    "",
    "Trains a model by reinforcement learning on an environment's tasks. Without options: the default",
    "model in the default world.",
    "",
    "Options:",
    "  --env <name>             the world (default: office)",
    "  --algorithm <kind>       what makes updates of rollouts: seeupo, grpo, ppo and others (default:",
    "                           seeupo)",
    ...modelText,
    "  --steps <n>              training steps (default: 40)",
    "  --tasks-per-step <n>     tasks of a step (default: 16)",
    "  --group-size <n>         rollouts of each task (default: 8)",
    "  --learning-rate <x>      AdamW's (default: 0.0001)",
    ...machineText,
    strictText,
    runText,
    ...settingsText,
    ...resumeText,
    "  --open                   open the dashboard in the browser",
    helpText,
    "",
    "Examples:",
    ...["train", "train --algorithm grpo --steps 20 --out runs/short"].map(example),
    ...["train --set evaluation.tasks=64 --set rollout.temperature=0.9", "train --resume --out runs/short"].map(example),
    "",
  ]);
});

const example = (line: string) => expect.stringMatching(new RegExp(`^  \\$ .+ ${line.replaceAll(".", "\\.")}$`));

test("the help of sft: every option, its default, examples", async () => {
  expect(await help("sft")).toEqual([
    "Usage: retrograde-rl sft [options]",
    "",
    "Supervised fine-tuning on conversations from a JSONL file, or by the environment's expert.",
    "",
    "Options:",
    "  --data <file>            conversations in JSONL; if left out, the environment's expert",
    "  --tokens-per-step <n>    tokens of conversations in a step (default: 2000)",
    "  --env <name>             the world (default: office)",
    ...modelText,
    "  --steps <n>              training steps (default: 40)",
    "  --learning-rate <x>      AdamW's (default: 0.0002)",
    ...machineText,
    strictText,
    runText,
    ...settingsText,
    ...resumeText,
    helpText,
    "",
    "Examples:",
    example("sft --data conversations.jsonl --model Qwen/Qwen3-0.6B"),
    example("sft --config retrograde.config.ts --steps 100"),
    "",
  ]);
});

test("the help of eval: every option, its default, examples", async () => {
  expect(await help("eval")).toEqual([
    "Usage: retrograde-rl eval [options]",
    "",
    "Measures a model on tasks of a split, greedily and sampled, with 95 % intervals. --compare pairs two",
    "models or evaluations task by task; --agent measures an agent.",
    "",
    "Options:",
    ...modelText,
    "  --endpoint <url>         a server of the chat-completions protocol, such as",
    "                           http://localhost:8000/v1, that has --model",
    "  --env <name>             the world (default: office)",
    "  --data <folder>          a benchmark's tasks, if not where `data` puts them",
    "  --split <name>           train, validation, test or challenge (default: test)",
    "  --tasks <n>              number of tasks (default: 160)",
    "  --k <n>                  attempts at each task (default: 2)",
    "  --temperature <t>        of sampling; 0 always takes the most probable token (default: 1)",
    ...machineText,
    "  --out <folder>           folder of the evaluation; if left out, a new one under evaluations/",
    ...settingsText,
    "  --compare <models...>    two models, runs, or folders of evaluations: the paired difference,",
    "                           second minus first",
    "  --agent <file>           measure an agent, as train-agent trains it, on --tasks FILE with --reward",
    '                           FILE; a program in quotes: "python agent.py"',
    "  --reward <file>          of --agent: a module whose default export is ({ task, answer }) => number",
    "  --show <n>               number of episodes to print, those that fail first (default: 1)",
    "  --resume                 continue the evaluation in --out, or else the newest one that has not",
    "                           finished",
    "  --json                   print the report as JSON, and nothing else",
    helpText,
    "",
    "Examples:",
    ...["eval", "eval --model runs/first --split challenge", "eval --tasks 64 --k 1 --temperature 0"].map(example),
    example("eval --compare runs/first runs/second"),
    "",
  ]);
});

test("the help of the smaller commands, and what the program is and has", async () => {
  expect((await help("runs", "show")).slice(0, -2)).toEqual([
    "Usage: retrograde-rl runs show [options] <folder>",
    "",
    "Shows a run's evaluations, steps and metrics.",
    "",
    "Arguments:",
    "  folder      the run's folder",
    "",
    "Options:",
    "  --debug     show where an error comes from",
    "  --json      print settings, evaluations and metrics as JSON",
    "  -h, --help  display help for command",
    "",
    "Examples:",
  ]);
  expect((await help("runs", "show")).at(-2)).toEqual(example("runs show runs/first"));
  const runs = await help("runs");
  expect(runs.slice(0, 10)).toEqual([
    "Usage: retrograde-rl runs [options] [command]",
    "",
    "Lists the runs of a folder, newest first.",
    "",
    "Options:",
    "  --debug                       show where an error comes from",
    '  --in <folder>                 where the runs are (default: "runs")',
    "  --json                        print them as JSON",
    "  -h, --help                    display help for command",
    "",
  ]);
  expect(runs).toContain("  show [options] <folder>       show a run");
  expect(await help("init")).toEqual([
    "Usage: retrograde-rl init [options] [folder]",
    "",
    "Writes a folder that runs: an environment with tools and a reward, a configuration, and a test.",
    "",
    "Arguments:",
    '  folder      a new folder (default: "my-task")',
    "",
    "Options:",
    "  --debug     show where an error comes from",
    "  -h, --help  display help for command",
    "",
    "Examples:",
    example("init my-task"),
    "",
  ]);
  const all = await help();
  expect(all.slice(0, 9)).toEqual([
    "Usage: retrograde-rl [options] [command]",
    "",
    "Trains tool-using language-model agents by reinforcement learning, on this machine.",
    "",
    "Options:",
    "  -V, --version                       output the version number",
    "  -h, --help                          display help for command",
    "",
    "Commands:",
  ]);
  expect(all).toEqual(
    expect.arrayContaining([
      "  init [options] [folder]             start a task of your own",
      "  train [options]                     train a model in an environment",
      "  sft [options]                       teach a model by demonstrations",
      "  eval [options]                      measure a model, compare two",
      "  runs [options]                      list runs, show one",
    ]),
  );
  expect(all.slice(-6)).toEqual(["", "Examples:", ...["train", "chat", "train --help"].map(example), ""]);
});
