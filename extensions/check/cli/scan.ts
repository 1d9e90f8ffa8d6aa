import { existsSync } from "node:fs";
import type { z } from "zod";
import { showDownload } from "../../../src/cli/download.ts";
import { environmentCheckFlags, type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import { present } from "../../../src/core/present.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { modelFolder, openChat, openModel, samplingUse } from "../../../src/sdk/model.ts";
import { environmentOf } from "../../../src/sdk/run-environment.ts";
import { percent, table } from "../../../src/terminal/format.ts";
import { commandPrefix, quoted } from "../../../src/terminal/invocation.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { answersSettingsSchema } from "../../answers/answers.ts";
import { type ScannedTasks, type ScanOptions, scanTasks } from "../scan.ts";
import { refuseAgent } from "./env-check.ts";
import { guardsOf, whileGuarded } from "./guarded-environment.ts";

export interface ScanFlags extends SettingValues {
  readonly json?: boolean;
  /** False for `--no-sampling`. */
  readonly sampling?: boolean;
}

/** A file or an environment that is scanned, and its configuration. */
export interface Subject {
  readonly name: string;
  readonly config: TrainingConfig;
  readonly environment: Environment;
  /** The settings of questions with known answers. */
  readonly answers?: z.output<typeof answersSettingsSchema>;
}

/** Prints what decides whether a model can learn tasks, a line for each file or environment. @throws ConfigError, EnvError, EngineError */
export async function scanCommand(
  what: readonly string[],
  { json, sampling = true, ...flags }: ScanFlags,
  screen: Screen,
): Promise<void> {
  const user = await loadConfigFile(flags.config);
  const given = settingsOf(environmentCheckFlags, { model: user.model ?? "smollm2", tasks: "64", ...flags });
  const subjects = what.map((each) => subjectOf(each, user, given));
  const { config } = present(subjects[0], "something to scan");
  const folder = await showDownload(config.model, screen, (onDownload) => modelFolder(config, onDownload, samplingUse(config)));
  const player = sampling
    ? await openModel(folder, config.engine, { use: samplingUse(config), seed: config.seed }, config.chat)
    : openChat(folder, config.chat);
  const engine = "engine" in player ? player.engine : undefined;
  const rows: Record<string, ScannedTasks> = {};
  try {
    for (const subject of subjects) {
      screen.status(`Scanning ${subject.name}`);
      rows[subject.name] = await scanned(subject, { chat: player.chat, engine }, screen);
    }
  } finally {
    await engine?.dispose();
  }
  screen.clear();
  if (json) screen.line(JSON.stringify(rows, null, 1));
  else for (const line of scanLines(rows, subjects)) screen.line(line);
}

/** A file of questions, or an environment by its name. @throws ConfigError if it is neither */
function subjectOf(what: string, user: UserConfig, given: UserConfig): Subject {
  refuseAgent(what);
  const settings = typeof given.environment === "object" && "settings" in given.environment ? given.environment.settings : {};
  const isFile = what.endsWith(".jsonl") || existsSync(what);
  const environment = isFile ? { name: "answers", settings: { ...(settings as object), data: what } } : { name: what, settings };
  const config = resolveConfig(user, { ...given, environment });
  const subject = { name: what, config, environment: environmentOf(config, user) };
  return environment.name === "answers" ? { ...subject, answers: answersSettingsSchema.parse(environment.settings) } : subject;
}

async function scanned(
  { config, environment, answers }: Subject,
  player: Pick<ScanOptions, "chat" | "engine">,
  screen: Screen,
): Promise<ScannedTasks> {
  const { seed, rollout, evaluation } = config;
  const guards = guardsOf("scan", config, (message) => screen.line(`warning: ${message}`));
  const options = { ...player, seed, rollout, tasks: evaluation.tasks, ...(answers && { compare: answers.compare }) };
  return whileGuarded(guards, environment, (opened) => scanTasks(opened, options));
}

/** @param subjects in the order in which they were asked for */
export function scanLines(rows: Readonly<Record<string, ScannedTasks>>, subjects: readonly Subject[]): string[] {
  const share = ({ mean }: { readonly mean: number }) => percent(mean);
  const head = ["", "tasks", "prompt", "answer", "in prompt", "chance", "greedy", "sampled", "groups that differ"];
  const cells = Object.entries(rows).map(([name, { tasks, prompt, answers, chance, model }]) => [
    ...[name, `${tasks}`, `${prompt}`, answers ? `${answers.tokens}` : "–", answers ? percent(answers.inPrompt) : "–"],
    ...[share(chance.success), ...(model ? [share(model.greedy), share(model.sampled), share(model.signal)] : ["–", "–", "–"])],
  ]);
  const [title = "", ...lines] = table([head, ...cells]);
  const width = Math.max(...[title, ...lines].map(({ length }) => length));
  const first = (verdict: string) => subjects.find(({ name }) => rows[name]?.verdict === verdict);
  return [
    title,
    ...lines.map((line, i) => `${line.padEnd(width)}  ${Object.values(rows)[i]?.verdict}`),
    "",
    "Prompts and answers are medians of tokens. Chance is the best player's who reads no meaning:",
    ...Object.entries(rows).map(([name, { chance }]) => `  ${name}: ${chance.player}`),
    ...nextLines(first("train"), first("teach the form first")),
  ];
}

function nextLines(learnable: Subject | undefined, formless: Subject | undefined): string[] {
  const command = ({ config: { model, environment }, answers }: Subject, verb: string, form = "") => {
    const settings = [
      ...(answers ? [`data=${answers.data}`] : []),
      ...(answers?.compare === "number" ? ["compare=number"] : []),
      ...(form ? [form] : []),
    ];
    const set = settings.map((each) => ` --set ${quoted(`environment.settings.${each}`)}`).join("");
    return `  ${commandPrefix()} ${verb} --model ${quoted(model)} --env ${environment.name}${set} --set engine.lora.rank=16`;
  };
  if (learnable !== undefined)
    return ["", `Next, for ${learnable.name}:`, `${command(learnable, "train")} --algorithm grpo --learning-rate 4e-4`];
  if (formless?.answers === undefined) return [];
  return [
    "",
    `Next, for ${formless.name}, demonstrations of the form, then a scan of the model that comes of it:`,
    `${command(formless, "sft", "demonstrate=form")} --steps 8 --learning-rate 5e-4`,
  ];
}
