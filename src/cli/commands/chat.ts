import { createInterface } from "node:readline";
import { rollout } from "../../agents/rollout.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Environment, Episode } from "../../environments/environment.ts";
import { modelFolder, openModel, samplingUse } from "../../sdk/model.ts";
import { environmentOf } from "../../sdk/train.ts";
import type { Tool } from "../../tools/tool.ts";
import { resolveConfig } from "../../training/config.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import { messageLines } from "../conversation.ts";
import { showDownload } from "../download.ts";
import { interruptedExitCode } from "../interrupt.ts";
import type { Screen } from "../screen.ts";
import { chatFlags, type SettingValues, settingsOf } from "../settings.ts";

/** A conversation may last as long as a person likes. */
const withoutEnd = { maxTurns: 10_000, episodeTimeoutMs: 2 ** 31 - 1 };

/** The model in an environment whose user is at the keyboard, or in a pipe. @returns the exit code */
export async function chatCommand(
  flags: SettingValues,
  screen: Screen,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const config = resolveConfig(user, settingsOf(chatFlags, flags));
  const environment = environmentOf(config, user);
  const task = await environment.task("test", config.seed);
  const opening = await openingLines(environment, task);
  const folder = await showDownload(config.model, screen, (onDownload) => modelFolder(config.model, onDownload));
  const { engine, chat } = await openModel(folder, config.threads, { ...samplingUse(config), concurrency: 1 }, config.device);

  const cancelled = new AbortController();
  const person = personAt(input, screen, () => cancelled.abort());
  try {
    for (const line of opening) screen.line(screen.paint.dim(line));
    const first = await person.ask();
    if (first === undefined) return 0;
    const { stopReason, error, messages } = await rollout(
      engine,
      chat,
      withPerson(environment, first, person.ask, screen),
      task,
      {
        ...config.rollout,
        ...withoutEnd,
        temperature: config.evaluation.temperature,
        seed: config.seed,
        id: "chat",
        group: "chat",
        signal: cancelled.signal,
      },
    );
    if (cancelled.signal.aborted) return interruptedExitCode;
    if (stopReason === "done") return 0;
    for (const line of messages.slice(-1).flatMap((message) => messageLines(message, screen.paint, screen.width)))
      screen.line(line);
    screen.line(screen.paint.red(`The conversation ended: ${stopReason}${error === undefined ? "" : ` (${error})`}`));
    return 0;
  } finally {
    person.leave();
    await engine.dispose();
  }
}

type Ask = () => Promise<string | undefined>;

/** The same world and tools, but another user; whatever happens is shown. */
function withPerson(environment: Environment, first: string, ask: Ask, screen: Screen): Environment {
  const show = (lines: readonly string[]) => {
    for (const line of lines) screen.line(line);
  };
  const shown = (tool: Tool): Tool => ({
    ...tool,
    execute: async (args, context) => {
      const call = { role: "assistant", content: "", toolCalls: [{ name: tool.name, arguments: args }] } as const;
      show(messageLines(call, screen.paint, screen.width));
      const result = await tool.execute(args, context);
      const content = typeof result === "string" ? result : JSON.stringify(result);
      show(messageLines({ role: "tool", name: tool.name, content }, screen.paint, screen.width));
      return result;
    },
  });
  return {
    ...environment,
    start: async (task, seed): Promise<Episode> => {
      const { messages, tools } = await environment.start(task, seed);
      return {
        messages: [...messages.filter(({ role }) => role === "system"), { role: "user", content: first }],
        tools: tools.map(shown),
        reply: async (message) => {
          show(messageLines(message, screen.paint, screen.width));
          const content = await ask();
          return content === undefined ? { done: true } : { done: false, messages: [{ role: "user", content }] };
        },
        score: () => ({ reward: 0 }),
      };
    },
  };
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
    if (done === true || value.trim() === "/quit") return undefined;
    if (value.trim() === "") return ask();
    if (!screen.live)
      for (const line of messageLines({ role: "user", content: value }, screen.paint, screen.width)) screen.line(line);
    return value.trim();
  };
  return { ask, leave: () => lines.close() };
}

async function openingLines(environment: Environment, task: Parameters<Environment["start"]>[0]): Promise<string[]> {
  const episode = await environment.start(task, 0);
  const example = episode.messages.find(({ role }) => role === "user")?.content;
  await episode.close?.();
  if (episode.protocol !== undefined)
    throw new ConfigError("environment.name", environment.name, {
      expected: "an environment whose tools are called in messages",
      hint: "Its model answers one question in one growing text: see what it does with retrograde eval.",
    });
  return [
    `Tools: ${episode.tools.map(({ name }) => name).join(", ")}`,
    ...(example === undefined ? [] : [`Somebody in this world might ask: ${example}`]),
    "An empty line is ignored; /quit or the end of the input ends.",
  ];
}
