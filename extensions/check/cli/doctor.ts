import { type Chat, makeChat } from "../../../src/chat/chat.ts";
import { chatSettingsSchema } from "../../../src/chat/settings.ts";
import { loadTokenizer } from "../../../src/chat/tokenizer-folder.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { doctorFlags, type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import { DeadlineError } from "../../../src/core/deadline.ts";
import { EnvError, reasonOf } from "../../../src/core/errors.ts";
import { seedOf } from "../../../src/core/random.ts";
import { runtime } from "../../../src/core/runtime.ts";
import { type EngineDiagnosis, engineKind, type Finding } from "../../../src/engines/registry.ts";
import type { Diagnosis, Environment } from "../../../src/environments/environment.ts";
import { guarded } from "../../../src/guard/guarded.ts";
import { broughtDiagnoses } from "../../../src/sdk/diagnoses.ts";
import { type Model, modelFolder, openModel, samplingUse, trainingUse } from "../../../src/sdk/model.ts";
import { environmentOf, withRunEnvironment } from "../../../src/sdk/run-environment.ts";
import { count, duration, plural } from "../../../src/terminal/format.ts";
import { commandPrefix } from "../../../src/terminal/invocation.ts";
import { createScreen, type Screen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import { type FirstPrompt, requireFirstPrompt } from "../../../src/training/config/first-prompt.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";
import { checkShownTools } from "../../../src/training/config/shown-tools.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { tryOut } from "../cost.ts";
import { guardsOf } from "./guarded-environment.ts";

type Check = () => Finding | Promise<Finding>;

export interface DoctorFlags extends SettingValues {
  readonly json?: boolean;
  /** Also plays episodes: how fast many rows are sampled, and what a run will cost. */
  readonly play?: boolean;
}

/** Looks at all that training needs on this machine. @returns the exit code: 1 if something is broken */
export async function doctorCommand(flags: DoctorFlags, screen: Screen): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const asked = settingsOf(doctorFlags, flags);
  const config = resolveConfig(withRunEnvironment(user, asked), asked);
  const notes = flags.json === true ? createScreen({ write: () => true }) : screen;
  const guards = guardsOf("doctor", config, (message) => notes.line(`! ${message}`));
  const findings = await guarded(guards, () => examine(config, user, flags.play === true, notes));
  const ready = findings.every(({ state }) => state !== "bad");
  if (flags.json === true) screen.line(JSON.stringify({ ready, checks: findings }, null, 2));
  else screen.line(ready ? `Ready. Train with: ${commandPrefix()} train` : "Something is broken: see above.");
  return ready ? 0 : 1;
}

/** The results of earlier checks, which later ones build on. */
interface Found {
  /** With the format of calls that the template leaves open. */
  played: TrainingConfig;
  hasDevice: boolean;
  folder?: string;
  model?: Model;
  prompt?: FirstPrompt;
}

type NamedFinding = Finding & { readonly name: string };

/** @param play whether episodes are played, too */
async function examine(config: TrainingConfig, user: UserConfig, play: boolean, screen: Screen): Promise<NamedFinding[]> {
  const diagnosis = await engineKind(config.engine).diagnose?.(config.engine);
  const found: Found = { played: config, hasDevice: true };
  const findings: NamedFinding[] = [];
  const note = ({ name, ...finding }: NamedFinding) => {
    screen.clear();
    findings.push({ name, ...finding });
    screen.line(`${mark(finding, screen)} ${name.padEnd(16)} ${finding.text}`);
    if (finding.advice !== undefined) screen.line(`${" ".repeat(19)}${finding.advice}`);
  };
  const { name, version } = runtime();
  note({ name, state: "good", text: `${version} on ${process.platform} ${process.arch}` });
  // Before the model: what extensions and the environment need is the same for every model.
  for (const each of broughtDiagnoses()) note(each);
  for (const each of await diagnosesOf(config, user, screen)) note(each);
  const checks = [...machineChecks(diagnosis, found), ...modelChecks(config, user, play, { screen, diagnosis, found })];
  for (const [name, check] of checks) {
    screen.status(`checking ${name} …`);
    note({ name, ...(await attempt(check)) });
  }
  await found.model?.engine.dispose();
  return findings;
}

type NamedCheck = readonly [string, Check];

function machineChecks(diagnosis: EngineDiagnosis | undefined, found: Found): NamedCheck[] {
  return (diagnosis?.machine ?? []).map(({ name, check, required }) => [
    name,
    async () => {
      if (required) found.hasDevice = false;
      const finding = await check();
      if (required) found.hasDevice = true;
      return finding;
    },
  ]);
}

function modelChecks(
  config: TrainingConfig,
  user: UserConfig,
  play: boolean,
  { screen, diagnosis, found }: { readonly screen: Screen; readonly diagnosis?: EngineDiagnosis; readonly found: Found },
): NamedCheck[] {
  const use = { ...samplingUse(config), concurrency: rows };
  const environment = async (): Promise<Finding> => {
    found.prompt = await promptOf(environmentOf(config, user), config.rollout.episodeTimeoutMs);
    return { state: "good", text: `"${config.environment.name}" starts, with ${plural(found.prompt.tools.length, "tool")}` };
  };
  const model = async (): Promise<Finding> => {
    const folder = await showDownload(config.model, screen, (onDownload) => modelFolder(config, onDownload, use));
    const finding = (await diagnosis?.describe(folder)) ?? { state: "good" as const, text: folder };
    found.folder = folder;
    return finding;
  };
  const template = async (folder: string): Promise<Finding> => {
    if (found.prompt === undefined) return noPrompt;
    const { finding, format } = await checkChat(folder, found.prompt, config, user);
    if (format !== undefined) found.played = { ...config, chat: chatSettingsSchema.parse({ ...config.chat, format }) };
    return finding;
  };
  const sampling = async (folder: string): Promise<Finding> => {
    if (!found.hasDevice) return noDevice;
    found.model = await openModel(folder, config.engine, { use, seed: config.seed }, found.played.chat);
    return found.prompt === undefined ? noPrompt : checkSampling(found.model, found.prompt, config, play);
  };
  const cost = () => {
    if (found.model === undefined) return notTried;
    return found.prompt === undefined ? noPrompt : checkCost(found.model, found.played, user);
  };
  const speed = diagnosis?.speed;
  const withFolder =
    (check: (folder: string) => ReturnType<Check>): Check =>
    () =>
      found.folder === undefined ? notTried : check(found.folder);
  const checks: [name: string, check: Check | undefined][] = [
    ["environment", environment],
    ["model", model],
    ["chat template", withFolder(template)],
    ["memory needed", diagnosis && withFolder((folder) => diagnosis.memory(folder, samplingUse(config), trainingUse(config)))],
    ["speed", speed && withFolder((folder) => (found.hasDevice ? speed(folder) : noDevice))],
    ["sampling", withFolder(sampling)],
    ["cost", play ? cost : undefined],
  ];
  return checks.flatMap(([name, check]) => (check === undefined ? [] : [[name, check] as const]));
}

/** Returns what the environment finds of what it needs, if it looks. */
async function diagnosesOf(config: TrainingConfig, user: UserConfig, screen: Screen): Promise<readonly Diagnosis[]> {
  const { name } = config.environment;
  screen.status(`checking ${name} …`);
  try {
    return (await environmentOf(config, user).diagnose?.()) ?? [];
  } catch (error) {
    return [{ name, state: "bad", text: reasonOf(error) }];
  }
}

/** How long the first task may take to begin. */
const startMs = 30_000;

/** @throws EnvError naming an environment that does not answer, or has no tasks */
async function promptOf(environment: Environment, limitMs: number): Promise<FirstPrompt> {
  const subject = `the first task of "${environment.name}"`;
  const prompt = await requireFirstPrompt(environment, Math.min(limitMs, startMs)).catch((cause: unknown) => {
    if (cause instanceof DeadlineError)
      throw new EnvError(subject, "missing", { expected: `a start, but there was ${cause.message}` });
    throw cause;
  });
  if (prompt !== undefined) return prompt;
  throw new EnvError(subject, "missing", { expected: "at least one task" });
}

const noPrompt: Finding = { state: "doubtful", text: "not tried: the environment shows no prompt" };
const noDevice: Finding = { state: "doubtful", text: "not tried: there is no device" };
const notTried: Finding = { state: "doubtful", text: "not tried: there is no model to try it with" };

async function attempt(check: Check): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return { state: "bad", text: reasonOf(error) };
  }
}

function mark({ state }: Finding, { paint }: Screen): string {
  return { good: paint.green("✓"), doubtful: paint.yellow("!"), bad: paint.red("✗") }[state];
}

/**
 * The environment's first prompt, with its tools, in the model's own template.
 * @returns also the format of calls that the other checks assume, where a setting has to name it
 */
async function checkChat(
  folder: string,
  prompt: FirstPrompt,
  config: TrainingConfig,
  user: UserConfig,
): Promise<{ readonly finding: Finding; readonly format?: string }> {
  const tokenizer = loadTokenizer(folder);
  const environment = environmentOf(config, user);
  const needsCalls = prompt.tools.length > 0 && prompt.protocol === undefined;
  const chat = makeChat(tokenizer, config.chat);
  const { likelyFormat: format } = chat;
  if (format !== undefined && needsCalls) {
    const text = "the template shows tools, and not how they are called";
    const advice = `Name the format that the model was taught, by its tokens probably ${format}: --set chat.format=${format}. What follows assumes it.`;
    return { finding: { state: "doubtful", text, advice }, format };
  }
  const notice = await checkShownTools(chat, environment, config);
  const ids = chat.open(prompt.messages, prompt.protocol === undefined ? prompt.tools : []).ids.slice();
  const calls = callsOf(chat);
  const ends = tokenizer.stopTokens.map((id) => tokenizer.decode([id])).join(" ");
  const text = `a prompt of "${environment.name}" is ${count(ids.length)} tokens; a message ends with ${ends}; ${calls.text}`;
  return {
    finding: {
      state: "good",
      text,
      advice: notice,
      values: { promptTokens: ids.length, endTokens: tokenizer.stopTokens, calls: calls.name },
    },
  };
}

/** How the model calls tools. An environment that needs it to was refused before if that is not known. */
function callsOf(chat: Chat): { readonly name: string | null; readonly text: string } {
  try {
    const { name, models } = chat.calls();
    return { name, text: `tools are called in the format ${name} (${models})` };
  } catch {
    return { name: null, text: "its template shows no tool calls in a known format" };
  }
}

const costLimitMs = 60_000;
const longEvaluation = 1800;

/** Time of a step, of an evaluation and of the run, from a few episodes. */
async function checkCost(model: Model, config: TrainingConfig, user: UserConfig): Promise<Finding> {
  const environment = environmentOf(config, user);
  const trial = await tryOut(model, environment, config, costLimitMs);
  if (trial === undefined)
    return {
      state: "doubtful",
      text: `no episode of "${environment.name}" ended within a minute`,
      advice: "Use a smaller model, fewer tokens (rollout.maxTokens, rollout.maxTurns), or a GPU (--device auto).",
    };
  const { samplingPerStep, trainingPerStep, evaluation, whole, tokensPerEpisode, episodes } = trial.cost;
  const text =
    `a step takes about ${duration(samplingPerStep + trainingPerStep)} (${duration(samplingPerStep)} to sample), an evaluation ` +
    `${duration(evaluation)}, the run of ${count(config.steps)} steps ${duration(whole)}; measured on ${count(episodes)} episodes of ` +
    `${count(tokensPerEpisode)} tokens`;
  const values = { ...trial.cost };
  if (evaluation < longEvaluation) return { state: "good", text, values };
  return { state: "doubtful", text, values, advice: "Shorten the evaluation: --set evaluation.tasks=32 --set evaluation.k=1." };
}

const rows = 32;
const tokensPerRow = 32;
/** Rows and tokens that show sound weights. */
const look = { rows: 2, tokens: 4 };

/**
 * Several rows at once, twice: what is sampled must be possible, and the same both times.
 * @param timed with as many rows as say how fast it is
 */
async function checkSampling(
  { engine, chat }: Model,
  prompt: FirstPrompt,
  config: TrainingConfig,
  timed: boolean,
): Promise<Finding> {
  const { rows: some, tokens: maxTokens } = timed ? { rows, tokens: tokensPerRow } : look;
  const ids = chat.open(prompt.messages, prompt.protocol === undefined ? prompt.tools : []).ids.slice();
  const sample = () =>
    Promise.all(
      Array.from({ length: some }, (_, row) =>
        engine.sample({ context: ids, maxTokens, stopTokens: [], seed: seedOf(config.seed, "doctor", row) }),
      ),
    );
  const first = await sample();
  const started = performance.now();
  const second = await sample();
  const seconds = (performance.now() - started) / 1000;
  if (!first.flatMap(({ logprobs }) => logprobs).every((logprob) => logprob <= 0))
    return {
      state: "bad",
      text: "the model gives log-probs that are not numbers",
      advice: "Its weights are broken: copy the folder from its source again.",
    };
  if (JSON.stringify(first.map(({ tokens }) => tokens)) !== JSON.stringify(second.map(({ tokens }) => tokens)))
    return {
      state: "bad",
      text: "the same seeds gave different tokens",
      advice: "Please report this with the output of this command.",
    };
  if (!timed) return { state: "good", text: "the same twice; --play says how fast, and what a run costs" };
  return { state: "good", text: `${count((rows * tokensPerRow) / seconds)} tokens/s in ${rows} rows, the same twice` };
}
