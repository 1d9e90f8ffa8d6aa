import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { type Chat, makeChat } from "../../chat/chat.ts";
import { chatSettingsSchema } from "../../chat/settings.ts";
import { checkVocabulary } from "../../chat/tokenizer.ts";
import { loadTokenizer } from "../../chat/tokenizer-folder.ts";
import { DeadlineError } from "../../core/deadline.ts";
import { EnvError, reasonOf } from "../../core/errors.ts";
import { seedOf } from "../../core/random.ts";
import { runtime } from "../../core/runtime.ts";
import { chooseProvider, type Device } from "../../engines/local/device-choice.ts";
import { availableMemory } from "../../engines/local/machine/memory-available.ts";
import { estimateMemory, gibibytes, memoryAdvice, parameterText, totalBytes } from "../../engines/local/memory.ts";
import { parameterCount } from "../../engines/local/model/model-config.ts";
import { readModelConfig } from "../../engines/local/model/model-folder.ts";
import { measurePeak } from "../../engines/local/peak.ts";
import { largestOfFamily } from "../../engines/local/published-sizes.ts";
import type { EngineConfig } from "../../engines/settings.ts";
import type { Diagnosis, Environment } from "../../environments/environment.ts";
import { guarded } from "../../guard/guarded.ts";
import { type Cost, tryOut } from "../../sdk/cost.ts";
import { computesHere } from "../../sdk/engine.ts";
import { type Model, modelFolder, openModel, samplingUse, trainingUse } from "../../sdk/model.ts";
import { environmentOf, withRunEnvironment } from "../../sdk/run-environment.ts";
import { count, duration, plural } from "../../terminal/format.ts";
import { commandPrefix } from "../../terminal/invocation.ts";
import type { Screen } from "../../terminal/screen.ts";
import { isWalled, walls } from "../../tools/python/walls.ts";
import { resolveConfig } from "../../training/config.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import { type FirstPrompt, requireFirstPrompt } from "../../training/first-prompt.ts";
import type { TrainingConfig } from "../../training/settings.ts";
import { checkShownTools } from "../../training/shown-tools.ts";
import type { UserConfig } from "../../training/user-config.ts";
import { showDownload } from "../download.ts";
import { doctorFlags, type SettingValues, settingsOf } from "../settings.ts";

interface Finding {
  readonly state: "good" | "doubtful" | "bad";
  readonly text: string;
  /** Says what to do about it. */
  readonly advice?: string;
  /** The measured values, for programs that read them. */
  readonly values?: Readonly<Record<string, unknown>>;
}

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
  const guards = {
    limitMs: config.rollout.episodeTimeoutMs,
    subject: "doctor",
    advice: "Mend the code, then start again.",
    warn: (message: string) => (flags.json === true ? undefined : screen.line(`! ${message}`)),
  };
  return guarded(guards, () => examine(config, user, flags, screen));
}

async function examine(config: TrainingConfig, user: UserConfig, flags: DoctorFlags, screen: Screen): Promise<number> {
  const use = { ...samplingUse(config), concurrency: rows };
  const { device, threads } = machineSettings(config.engine);
  let played = config;
  let hasDevice = device === "cpu";
  let folder: string | undefined;
  let model: Model | undefined;
  let prompt: FirstPrompt | undefined;
  const checks: readonly (readonly [string, Check])[] = [
    ["system", () => checkSystem()],
    [runtime().name, checkRuntime],
    ["processor", () => checkProcessor(threads)],
    ["memory", checkMemory],
    ["matrix products", () => checkProducts(threads)],
    ...(hasDevice
      ? []
      : [
          [
            "device",
            async () => {
              const finding = await checkDevice(device, threads);
              hasDevice = true;
              return finding;
            },
          ] as const,
        ]),
    ["Python sandbox", checkSandbox],
    [
      "environment",
      async () => {
        prompt = await promptOf(environmentOf(config, user), config.rollout.episodeTimeoutMs);
        return { state: "good", text: `"${config.environment.name}" starts, with ${plural(prompt.tools.length, "tool")}` };
      },
    ],
    [
      "model",
      async () => {
        const found = await (flags.json === true
          ? modelFolder(config, undefined, use)
          : showDownload(config.model, screen, (onDownload) => modelFolder(config, onDownload, use)));
        const finding = await describeModel(found);
        folder = found;
        return finding;
      },
    ],
    [
      "chat template",
      async () => {
        if (folder === undefined) return notTried;
        if (prompt === undefined) return noPrompt;
        const { finding, format } = await checkChat(folder, prompt, config, user);
        if (format !== undefined) played = { ...config, chat: chatSettingsSchema.parse({ ...config.chat, format }) };
        return finding;
      },
    ],
    ["memory needed", () => (folder === undefined ? notTried : checkMemoryNeeded(folder, config))],
    [
      "sampling",
      async () => {
        if (folder === undefined) return notTried;
        if (!hasDevice) return { state: "doubtful", text: "not tried: there is no device" };
        model = await openModel(folder, config.engine, { use, seed: config.seed }, played.chat);
        return prompt === undefined ? noPrompt : checkSampling(model, prompt, config, flags.play === true);
      },
    ],
    ...(flags.play === true
      ? [
          [
            "cost",
            () => (model === undefined ? notTried : prompt === undefined ? noPrompt : checkCost(model, played, user)),
          ] as const,
        ]
      : []),
  ];
  const findings: (Finding & { name: string })[] = [];
  const note = ({ name, ...finding }: Finding & { name: string }) => {
    screen.clear();
    findings.push({ name, ...finding });
    if (flags.json === true) return;
    screen.line(`${mark(finding, screen)} ${name.padEnd(16)} ${finding.text}`);
    if (finding.advice !== undefined) screen.line(`${" ".repeat(19)}${finding.advice}`);
  };
  for (const [name, check] of checks) {
    screen.status(`checking ${name} …`);
    note({ name, ...(await attempt(check)) });
    // Before the model: what the environment needs is the same for every model.
    if (check === checkSandbox) for (const diagnosis of await diagnosesOf(config, user, screen)) note(diagnosis);
  }
  await model?.engine.dispose();
  const ready = findings.every(({ state }) => state !== "bad");
  if (flags.json === true) screen.line(JSON.stringify({ ready, checks: findings }, null, 2));
  else screen.line(ready ? `Ready. Train with: ${commandPrefix()} train` : "Something is broken: see above.");
  return ready ? 0 : 1;
}

/** The systems that ONNX Runtime's package has libraries for, and whether the tests of this package run there. */
const systems: Readonly<Record<string, "tested" | "untested">> = {
  "linux x64": "tested",
  "linux arm64": "untested",
  "darwin arm64": "untested",
  "win32 x64": "untested",
  "win32 arm64": "untested",
};

/** Says whether the local engine can run on a system. */
export function checkSystem(platform: string = process.platform, arch: string = process.arch): Finding {
  const text = `${platform} ${arch}`;
  const known = systems[text];
  if (known === "tested") return { state: "good", text };
  if (known === "untested")
    return {
      state: "doubtful",
      text,
      advice: "This package is tested on linux x64 alone. Please report what does not work here.",
    };
  return {
    state: "bad",
    text,
    advice: `ONNX Runtime has no library for it, so nothing is computed here. There is one for ${Object.keys(systems).join(", ")}.`,
  };
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

/** Returns what is measured of this machine: with an engine elsewhere, the processor alone. */
function machineSettings(engine: EngineConfig): { device: Device; threads: number } {
  return computesHere(engine) ? engine : { device: "cpu", threads: availableParallelism() };
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

function checkRuntime(): Finding {
  return { state: "good", text: `${runtime().version} on ${process.platform} ${process.arch}` };
}

function checkProcessor(threads: number): Finding {
  const cores = availableParallelism();
  const text = `${cpus()[0]?.model.trim() ?? "unknown"}, ${count(cores)} cores; ${count(threads)} threads are used`;
  if (threads > cores)
    return { state: "doubtful", text, advice: `More threads than cores slow each other down: --threads ${cores}.` };
  return { state: "good", text };
}

/** The walls of the operating system around the Python tool. The first wall, WebAssembly's, holds everywhere. */
function checkSandbox(): Finding {
  const all = walls();
  const text = all.map(({ name, holds, text }) => `${name}: ${holds ? text : `missing, ${text}`}`).join("; ");
  if (all.every(({ holds }) => holds)) return { state: "good", text };
  if (isWalled()) return { state: "doubtful", text, advice: "docs/tools.md says what each wall is for." };
  const advice = "Environments with the Python tool start only with --allow-unwalled-python.";
  return { state: "doubtful", text, advice };
}

function checkMemory(): Finding {
  const [total, available] = [totalmem(), availableMemory()];
  return {
    state: "good",
    text: `${gibibytes(total)}, ${gibibytes(available)} of it available`,
    values: { totalBytes: total, availableBytes: available },
  };
}

/** A core with AVX2 makes some 50 GFLOP/s; below this something slows it down. */
const slowGflops = 10;

async function checkProducts(threads: number): Promise<Finding> {
  const gflops = await measurePeak({ threads });
  const text = `ONNX Runtime on the CPU: ${count(gflops)} GFLOP/s with ${count(threads)} threads`;
  const values = { provider: "cpu", threads, gflops: Math.round(gflops) };
  if (gflops < slowGflops * threads)
    return { state: "doubtful", text, values, advice: "That is slow: is the machine busy, or Node emulated (x64 on ARM)?" };
  return { state: "good", text, values };
}

/** Reports what a run with this setting would compute on. */
async function checkDevice(device: Device, threads: number): Promise<Finding> {
  const { provider, description } = await chooseProvider(device, threads);
  return { state: "good", text: description, values: { device, provider } };
}

async function describeModel(folder: string): Promise<Finding> {
  const config = await readModelConfig(join(folder, "config.json"));
  const { architecture, vocabSize, maxPositionEmbeddings } = config;
  const parameters = parameterCount(config);
  const tokenizer = loadTokenizer(folder);
  checkVocabulary(tokenizer, vocabSize, folder);
  return {
    state: "good",
    text:
      `${folder}: ${architecture}, ${parameterText(parameters)} parameters, vocabulary ${count(vocabSize)} ` +
      `(tokenizer ${count(tokenizer.size)}), up to ${count(maxPositionEmbeddings)} tokens`,
    values: { folder, architecture, parameters, vocabSize, tokenizerSize: tokenizer.size, maxLength: maxPositionEmbeddings },
  };
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
  const calls = callsOf(chat, needsCalls);
  const ends = tokenizer.stopTokens.map((id) => tokenizer.decode([id])).join(" ");
  const text = `a prompt of "${environment.name}" is ${count(ids.length)} tokens; a message ends with ${ends}; ${calls.text}`;
  return {
    finding: {
      state: "good",
      text,
      ...(notice === undefined ? {} : { advice: notice }),
      values: { promptTokens: ids.length, endTokens: tokenizer.stopTokens, calls: calls.name },
    },
  };
}

/** How the model calls tools. @throws ModelError if that is not known and the environment needs it */
function callsOf(chat: Chat, needed: boolean): { readonly name: string | null; readonly text: string } {
  try {
    const { name, models } = chat.calls();
    return { name, text: `tools are called in the format ${name} (${models})` };
  } catch (error) {
    if (needed) throw error;
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
  const values = { ...trial.cost } satisfies Cost;
  if (evaluation < longEvaluation) return { state: "good", text, values };
  return { state: "doubtful", text, values, advice: "Shorten the evaluation: --set evaluation.tasks=32 --set evaluation.k=1." };
}

const lengths = [512, 2048];

/** Sampling and training with the settings given, by the longest sequence. */
async function checkMemoryNeeded(folder: string, config: TrainingConfig): Promise<Finding> {
  const model = await readModelConfig(join(folder, "config.json"));
  const available = availableMemory();
  const reach = lengths.filter((length, i) => i === 0 || length <= model.maxPositionEmbeddings);
  const uses = reach.map((length) => ({
    length: Math.min(length, model.maxPositionEmbeddings),
    sampling: estimateMemory(model, { ...samplingUse(config), length }),
    training: estimateMemory(model, { ...trainingUse(config), length }),
  }));
  const text = uses
    .map(
      ({ length, sampling, training }) =>
        `${gibibytes(totalBytes(sampling))} to sample, ${gibibytes(totalBytes(training))} to train at ${count(length)} tokens`,
    )
    .join("; ");
  const [shortest] = uses;
  const fits = shortest !== undefined && totalBytes(shortest.training) <= available;
  const largest = largestOfFamily(model, { ...trainingUse(config), length: Math.min(...reach) }, available);
  const family =
    largest === undefined
      ? ""
      : `; the largest of its family of which an adapter fits: ${largest.name}, lora.base ${largest.base}, ${gibibytes(largest.bytes)}`;
  return {
    state: fits ? "good" : "doubtful",
    text: `about ${text}${family}`,
    ...(fits
      ? {}
      : {
          advice: `${gibibytes(available)} are available. ${memoryAdvice(model, { ...trainingUse(config), length: Math.min(...reach) }, available)}`,
        }),
    values: { concurrency: config.rollout.concurrency, estimates: uses, largest },
  };
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
