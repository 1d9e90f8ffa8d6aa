import { join } from "node:path";
import { shownEpisodes } from "../../../src/cli/conversation.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { numberOf } from "../../../src/cli/numbers.ts";
import { doctorFlags, type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { wholeContext } from "../../../src/core/whole-context.ts";
import { assumedLength, modelFolder, openModel, samplingUse, trainingUse } from "../../../src/sdk/model.ts";
import { environmentOf, withRunEnvironment } from "../../../src/sdk/run-environment.ts";
import { createScreen, type Screen } from "../../../src/terminal/screen.ts";
import { wrap } from "../../../src/terminal/wrap.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import { firstPrompt } from "../../../src/training/config/first-prompt.ts";
import { hasBundledModel } from "../../../src/training/config/known-models.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";
import { checkShownTools } from "../../../src/training/config/shown-tools.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { readTasks } from "../../agents/tasks.ts";
import { trainedAgent, trainingOf } from "../../agents/train-agent.ts";
import { chooseProvider, type Device } from "../../local/device-choice.ts";
import { availableMemory } from "../../local/machine/memory-available.ts";
import type { MemoryUse } from "../../local/memory.ts";
import { parameterCount } from "../../local/model/model-config.ts";
import { readModelConfig } from "../../local/model/model-folder.ts";
import { memoryUse } from "../../local/open.ts";
import { measurePeak, otherLoad } from "../../local/peak.ts";
import { type Chances, chancesOf, fittingModels, guessedStepSeconds, stepSeconds } from "../advice.ts";
import { type AgentCheckReport, checkAgent } from "../agent-check.ts";
import { type Trial, tryOut } from "../cost.ts";
import {
  type AgentCommand,
  choiceLines,
  firstTrial,
  fittingLines,
  holeLines,
  nextOf,
  type Speed,
  trialLines,
} from "./advise-lines.ts";
import { agentCommand } from "./agent-command.ts";
import { guardsOf, whileGuarded } from "./guarded-environment.ts";

export interface AdviseFlags extends SettingValues {
  readonly tasks?: string;
  readonly reward?: string;
  readonly memory?: string;
  readonly hours?: string;
  readonly json?: boolean;
}

/** How long the trial may take. */
const trialMs = 300_000;
/** The most tokens of an answer in the trial. A run has the whole context, to whose end an untaught small model writes; a thought and a call are shorter. */
const trialTokens = 512;

/**
 * Plays a few episodes with a model (without one, lists those that can be trained here), and says whether it can learn in them, which published models can be trained here in the time there is, and what to
 * do next. Nothing is trained or kept.
 * @param agent a module or a program, as train-agent takes it; none: the environment of the settings
 * @param measured measures this machine
 * @throws ConfigError, ModelError, EngineError, EnvError
 */
export async function adviseCommand(
  agent: readonly string[],
  flags: AdviseFlags,
  screen: Screen,
  measured = speedOf,
): Promise<void> {
  const bytes = flags.memory === undefined ? availableMemory() : numberOf("--memory", flags.memory, 0) * 2 ** 30;
  const time = numberOf("--hours", flags.hours ?? "8", 0) * 3600;
  const training = agent.length === 0 ? undefined : await trainingOf(agent, flags);
  const { config, user } = await asked(training, flags);
  const quiet = flags.json === true;
  const notes = quiet ? createScreen({ write: () => true }) : screen;
  const checked = training === undefined ? undefined : await checkOf(training, notes);
  const holes = checked?.findings ?? [];
  const command: AgentCommand | undefined =
    training === undefined ? undefined : (name, options) => agentCommand(name, agent, flags, options);
  const { environment } = config;
  const speed = await measured(config);
  const { gflops, provider } = speed;
  if (config.model === "default" && !hasBundledModel(environment.name)) {
    const length = checked === undefined ? assumedLength : Math.max(assumedLength, 2 * checked.asks.tokens);
    const of = checked?.asks ?? { requests: 2, tokens: assumedLength };
    const fitting = fittingModels({ ...useOf(config), length }, bytes).map((each) => ({
      ...each,
      seconds: config.steps * guessedStepSeconds(each.parameters, of, config.rollout, gflops),
    }));
    const machine = { bytes, length, time, steps: config.steps, ...speed };
    const next = `Next: ${firstTrial(fitting, time, command, environment.name)}`;
    if (quiet) screen.line(JSON.stringify({ memoryBytes: bytes, gflops, provider, fitting, holes, next }, null, 1));
    else show([...choiceLines(fitting, machine), ...holeLines(holes), "", next], screen);
    return;
  }
  const hasTools = checked === undefined ? undefined : checked.tools.length > 0;
  const { chances, trial, model, tools } = await tried(config, user, hasTools, notes);
  const fitting = fittingModels({ ...useOf(config), length: Math.max(512, chances.longest) }, bytes).map((each) => ({
    ...each,
    seconds: config.steps * stepSeconds(trial, model.parameters, each.parameters, config.rollout, gflops),
  }));
  if (quiet) {
    const found = { model, chances, cost: trial.cost, memoryBytes: bytes, seconds: time, fitting, holes };
    screen.line(JSON.stringify(found, null, 1));
    return;
  }
  const played = trial.groups.flatMap(({ trajectories }) => trajectories);
  const stronger = fitting.findLast((each) => each.seconds <= time);
  const lines = [
    ...trialLines(chances, trial, tools),
    "",
    ...fittingLines(fitting, time, { bytes, steps: config.steps }),
    ...shownEpisodes(played, undefined, screen.paint, screen.width),
    ...holeLines(holes),
    "",
    nextOf(chances, stronger, config, command),
  ];
  show(lines, screen);
}

/** The device that would be chosen here, and its products. */
async function speedOf({ engine }: TrainingConfig): Promise<Speed> {
  const { threads, device } = engine as { readonly threads: number; readonly device: Device };
  const load = otherLoad();
  const { provider } = await chooseProvider(device, threads);
  return { gflops: await measurePeak({ threads, provider }), provider, load };
}

/** Checks an agent's reward with few tasks, and learns what the agent asks of a model. */
function checkOf({ tasks, ...training }: AgentOfFlags, notes: Screen): Promise<AgentCheckReport> {
  const onProgress = (policy: string) => notes.status(`playing a policy that ${policy} …`);
  const check = { ...training, tasks: readTasks(tasks).slice(0, 24), policyMs: 4000, onProgress };
  return checkAgent(check).finally(() => notes.clear());
}

/** Training as it would be on this machine. */
function useOf(config: TrainingConfig): MemoryUse {
  return memoryUse(config.engine.kind === "local" ? config.engine : {}, trainingUse(config));
}

function show(lines: readonly string[], screen: Screen): void {
  for (const line of lines.flatMap((each) => (each.startsWith("  ") ? [each] : wrap(each, screen.width)))) screen.line(line);
}

type AgentOfFlags = Awaited<ReturnType<typeof trainingOf>>;

async function asked(
  training: AgentOfFlags | undefined,
  flags: AdviseFlags,
): Promise<{ config: TrainingConfig; user: UserConfig }> {
  const given = settingsOf(doctorFlags, flags);
  const file = await loadConfigFile(flags.config);
  const user = training === undefined ? withRunEnvironment(file, given) : { ...file, environment: trainedAgent(training) };
  return { config: resolveConfig(user, given), user };
}

interface Tried {
  readonly chances: Chances;
  readonly trial: Trial;
  readonly model: { readonly folder: string; readonly parameters: number };
  readonly tools: boolean;
}

/** @param hasTools whether the model is shown tools, where that is known before an episode */
async function tried(config: TrainingConfig, user: UserConfig, hasTools: boolean | undefined, notes: Screen): Promise<Tried> {
  const environment = environmentOf(config, user);
  const { engine, seed, chat } = config;
  const isOpen = config.rollout.maxTokens === wholeContext;
  const rollout = isOpen ? { ...config.rollout, maxTokens: trialTokens } : config.rollout;
  const guards = guardsOf("advise", config, (message) => notes.line(`! ${message}`));
  const use = { ...samplingUse(config), concurrency: Math.min(32, rollout.concurrency) };
  const folder = await showDownload(config.model, notes, (onDownload) => modelFolder(config, onDownload, use));
  const parameters = parameterCount(await readModelConfig(join(folder, "config.json")));
  return whileGuarded(guards, environment, async (opened) => {
    const prompt = await firstPrompt(opened, 30_000);
    const model = await openModel(folder, engine, { use, seed }, chat);
    try {
      const notice = await checkShownTools(model.chat, opened, config);
      if (notice !== undefined) notes.line(notice);
      notes.line(`Playing "${environment.name}" with ${config.model}, for at most ${trialMs / 60_000} minutes`);
      if (isOpen) notes.line(`Answers have at most ${trialTokens} tokens here; a run may give them more (rollout.maxTokens)`);
      const trial = await tryOut(model, opened, { ...config, rollout }, trialMs);
      notes.clear();
      const tools = hasTools ?? (prompt !== undefined && prompt.tools.length > 0);
      if (trial !== undefined) return { chances: chancesOf(trial.groups, tools), trial, model: { folder, parameters }, tools };
      throw new ConfigError("model", config.model, {
        expected: `one that ends an episode of "${environment.name}" within ${trialMs / 60_000} minutes`,
        hint: "Use a smaller model, or fewer tokens (rollout.maxTokens, rollout.maxTurns).",
      });
    } finally {
      await model.engine.dispose();
    }
  });
}
