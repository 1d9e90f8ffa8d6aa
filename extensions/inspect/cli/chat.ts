import { createInterface } from "node:readline";
import { messageLines } from "../../../src/cli/conversation.ts";
import { showDownload } from "../../../src/cli/download.ts";
import { chatFlags, type SettingValues, settingsOf } from "../../../src/cli/settings.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { Message } from "../../../src/core/messages.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import type { Environment, Task } from "../../../src/environments/environment.ts";
import { whileEpisode, whileOpen } from "../../../src/environments/lifetime.ts";
import { guarded } from "../../../src/guard/guarded.ts";
import { rollout } from "../../../src/rollouts/rollout.ts";
import { modelFolder, openModel, samplingUse } from "../../../src/sdk/model.ts";
import { environmentOf, resolvePlayed } from "../../../src/sdk/run-environment.ts";
import { interruptedExitCode } from "../../../src/terminal/interrupt.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { loadConfigFile } from "../../../src/training/config/config-file.ts";
import { isBundled, runOfModel } from "../../../src/training/config/known-models.ts";
import type { TrainingConfig } from "../../../src/training/config/settings.ts";
import { checkShownTools } from "../../../src/training/config/shown-tools.ts";
import type { UserConfig } from "../../../src/training/config/user-config.ts";
import { type Ask, drawTask, withPerson } from "./chat-worlds.ts";

/** A conversation may last as long as a person likes. */
const withoutEnd = { maxTurns: 10_000, episodeTimeoutMs: 2 ** 31 - 1 };

/** The model in an environment whose user is at the keyboard, or in a pipe. @returns the exit code */
export async function chatCommand(
  flags: SettingValues,
  screen: Screen,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const asked = settingsOf(chatFlags, flags);
  const alone = namesModelAlone(user, asked);
  const settings = resolvePlayed(user, asked);
  const rollout = { ...settings.rollout, maxTokens: user.rollout?.maxTokens ?? longAnswer };
  const config = alone ? { ...settings, rollout } : settings;
  const environment = alone ? talk : environmentOf(config, user);
  const guards = {
    limitMs: config.rollout.episodeTimeoutMs,
    subject: "chat",
    advice: "Mend the code, then start again.",
    warn: (message: string) => screen.line(screen.paint.yellow(`warning: ${message}`)),
  };
  return guarded(guards, (signal) =>
    whileOpen(environment, { timeoutMs: config.rollout.episodeTimeoutMs, signal }, (opened) =>
      chatIn(opened, config, screen, input, signal),
    ),
  );
}

/** Tokens of an answer, where nothing says how long one may be. */
const longAnswer = 1024;

/** No world, no tools: a person and a model. */
const talk: Environment = {
  name: "talk",
  size: () => 1,
  task: () => ({ id: "talk" }),
  start: () => ({ messages: [], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 0 }) }),
};

/** True where a model is named that no environment comes with, and no environment. */
function namesModelAlone(user: UserConfig, asked: UserConfig): boolean {
  const model = asked.model ?? user.model ?? "default";
  return (asked.environment ?? user.environment) === undefined && !isBundled(model) && runOfModel(model) === undefined;
}

async function chatIn(
  environment: Environment,
  config: TrainingConfig,
  screen: Screen,
  input: NodeJS.ReadableStream,
  broken: AbortSignal,
): Promise<number> {
  const task = await drawTask(environment, config.seed);
  const opening = await look(environment, task);
  const use = { ...samplingUse(config), concurrency: 1 };
  const folder = await showDownload(config.model, screen, (onDownload) => modelFolder(config, onDownload, use));
  const { engine, chat } = await openModel(folder, config.engine, { use, seed: config.seed }, config.chat);

  const cancelled = new AbortController();
  const person = personAt(input, screen, () => cancelled.abort());
  broken.addEventListener("abort", () => {
    cancelled.abort();
    person.leave();
  });
  const show = (message: Message) => {
    for (const line of messageLines(message, screen.paint, screen.width)) screen.line(line);
  };
  /** One conversation. @returns how it ended */
  const converse = async (): Promise<Trajectory | undefined> => {
    const first = await person.ask();
    if (first === undefined) return undefined;
    return rollout(engine, chat, withPerson(environment, first, person.ask, show), task, {
      ...{ ...config.rollout, ...withoutEnd, temperature: config.evaluation.temperature, seed: config.seed },
      ...{ id: "chat", group: "chat", signal: cancelled.signal },
    });
  };
  try {
    const notice = await checkShownTools(chat, environment, config);
    for (const line of notice === undefined ? opening : [notice, ...opening]) screen.line(screen.paint.dim(line));
    const ended = await converse();
    broken.throwIfAborted();
    if (cancelled.signal.aborted) return interruptedExitCode;
    if (ended === undefined || ended.stopReason === "done") return 0;
    const { stopReason, error, messages } = ended;
    messages.slice(-1).forEach(show);
    screen.line(screen.paint.red(`The conversation ended: ${stopReason}${error === undefined ? "" : ` (${error})`}`));
    return 0;
  } finally {
    person.leave();
    await engine.dispose();
  }
}

/** Lines that a person writes, until the end of the input or /quit. */
function personAt(input: NodeJS.ReadableStream, screen: Screen, onCancel: () => void): { ask: Ask; leave: () => void } {
  const lines = createInterface({
    input,
    output: screen.live ? process.stdout : undefined,
    prompt: screen.paint.cyan("you        "),
  });
  lines.on("SIGINT", () => {
    onCancel();
    lines.close();
  });
  const iterator = lines[Symbol.asyncIterator]();
  const ask = async (): Promise<string | undefined> => {
    if (screen.live) lines.prompt();
    const { value, done } = await iterator.next();
    if (done === true) return undefined;
    const content = value.trim();
    if (content === "/quit") return undefined;
    if (content === "") return ask();
    if (!screen.live) for (const line of messageLines({ role: "user", content }, screen.paint, screen.width)) screen.line(line);
    return content;
  };
  return { ask, leave: () => lines.close() };
}

/** The lines at the start. @throws ConfigError for a world whose model answers in one growing text: nobody can say anything in it */
async function look(environment: Environment, task: Task): Promise<string[]> {
  const { protocol, messages, tools } = await whileEpisode(environment, task, 0, (started) => started);
  if (protocol?.continuation.kind === "one-message")
    throw new ConfigError("environment", environment.name, {
      expected: "a world of messages: in this one a model answers each task in one text",
      hint: "`retrograde-rl eval --show 3` shows its answers.",
    });
  const example = messages.find(({ role }) => role === "user")?.content;
  return [
    ...(tools.length === 0 ? [] : [`Tools: ${tools.map(({ name }) => name).join(", ")}`]),
    ...(example === undefined ? [] : [`Somebody in this world might ask: ${example}`]),
    "An empty line is ignored; /quit or the end of the input ends.",
  ];
}
