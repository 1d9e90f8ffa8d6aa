import { ConfigError } from "../../../src/core/errors.ts";
import type { Message } from "../../../src/core/messages.ts";
import { once } from "../../../src/core/once.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import {
  type CallAnswer,
  type Environment,
  type Episode,
  type Split,
  splits,
  type Task,
} from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import { HttpClient } from "../shared/http.ts";
import { listedSizes, namesSchema } from "../shared/listed.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { Rewards } from "../shared/rewards.ts";
import { SameStart } from "../shared/same-start.ts";
import { accessOf, declared, keyOf } from "../shared/settings.ts";
import { errorText, serverTool } from "../shared/tool.ts";
import { OrsSession, ToolRaised } from "./session.ts";
import { type OrsSettings, orsSettingsSchema } from "./settings.ts";
import { blocksText, spoken, type ToolList, versionSchema } from "./wire.ts";

interface OrsTask extends Task {
  readonly split: Split;
  readonly index: number;
}

/**
 * An environment on an ORS server (ors-sdk, OpenReward). Every episode has a session of its own.
 * @param name it is recorded under, such as `ors:https://example.org`
 * @throws ConfigError for wrong settings, or a key that is not set
 */
export function orsEnvironment(name: string, url: string, userSettings: unknown): Environment<OrsTask> {
  const settings = parseSettings(orsSettingsSchema, userSettings ?? {}, "environment.settings");
  const { system, maxOutput, pingMs, setupMs, secretVariables } = settings;
  const secrets = Object.fromEntries(
    Object.entries(secretVariables).map(([secret, keyVariable]) => [secret, keyOf({ keyVariable }) ?? ""]),
  );
  const access = accessOf(settings, (key) => ({ "x-api-key": key }));
  const http = new HttpClient({ base: url, spoken, ...access, secrets: [...access.secrets, ...Object.values(secrets)] });
  const sameStart = new SameStart(settings);
  let known: readonly Split[] = splits;
  const describedOnce = once(async () => {
    const described = await describe(http, settings.environment);
    known = [...described.sizes.keys()];
    return described;
  });
  return {
    ...declared(name, settings),
    /** Those of the server, once it was asked. */
    get splits() {
      return known;
    },
    open: async () => void (await describedOnce()),
    size: async (split) => (await describedOnce()).sizes.get(split) ?? 0,
    task: (split, index) => ({ id: `${split}/${index}`, split, index }),
    start: async ({ id, split, index }) => {
      const { name: environment } = await describedOnce();
      const session = await OrsSession.open(http, { environment, split, index, pingMs, setupMs, secrets });
      try {
        const messages = openingOf(await session.opening(), system, maxOutput);
        sameStart.check(id, messages);
        const { tools: listed, terminal_tool: terminal } = await session.tools();
        const tools = listed.map(({ input_schema: parameters, ...tool }) => serverTool({ ...tool, parameters }, settings));
        return orsEpisode(session, { messages, tools, terminal: terminal ?? undefined }, settings);
      } catch (error) {
        await session.close();
        throw error;
      }
    },
  };
}

/** The facts that a server is asked for once. @param wanted the environment's name. Default: the server's first */
async function describe(
  http: HttpClient,
  wanted: string | undefined,
): Promise<{ name: string; sizes: ReadonlyMap<Split, number> }> {
  await recognise(http);
  const names = await http.json(namesSchema, { path: "/list_environments" });
  const name = wanted ?? names[0];
  if (!names.some((known) => known.toLowerCase() === name.toLowerCase()))
    throw new ConfigError("environment.settings.environment", name, { expected: names });
  const sizes = await listedSizes(http, name);
  if (sizes === undefined) throw new RemoteEnvError("expired", `splits of ${name}`, undefined, { expected: "a list of them" });
  return { name, sizes };
}

/** Finds out what the server speaks. @throws RemoteEnvError for a version of openreward that is not known here */
async function recognise(http: HttpClient): Promise<void> {
  const answer = await http.ask({ path: "/version" });
  if (answer.status !== 200) return;
  const { version } = http.read(versionSchema, answer.text, "version");
  http.serverVersion = version;
  const [major, minor] = version.split(".").map(Number);
  if (major === 0 && minor === 1) return;
  throw new RemoteEnvError("malformed", "version of the server at /version", version, {
    expected: spoken,
    hint: "A server of another version may mean other things by the same names, so it is not played.",
  });
}

/** The first messages, cut to what the model reads, with the settings' system message before all. */
function openingOf(given: readonly Message[], system: string | undefined, maxOutput: number): Message[] {
  const own = given.map((message) => ({ ...message, content: cut(message.content, maxOutput) }));
  const [only, ...others] = own;
  const isEmpty = others.length === 0 && only?.role === "user" && only.content === "";
  const shown = isEmpty ? [{ ...only, content: "Begin." }] : own;
  if (system === undefined) return shown;
  const [first] = shown;
  if (first?.role !== "system") return [{ role: "system", content: system }, ...shown];
  return [{ ...first, content: `${system}\n\n${first.content}` }, ...shown.slice(1)];
}

type TerminalTool = NonNullable<ToolList["terminal_tool"]>;

interface OrsOpening extends Pick<Episode, "messages" | "tools"> {
  readonly terminal: TerminalTool | undefined;
}

function orsEpisode(session: OrsSession, { messages, tools, terminal }: OrsOpening, settings: OrsSettings): Episode {
  const { maxOutput, executionErrors } = settings;
  const rewards = new Rewards(settings, spoken);
  const wrong = (message: string): CallAnswer => ({
    content: cut(errorText(message), maxOutput),
    valid: false,
    failure: "invalid",
  });
  return {
    messages,
    tools,
    call: async (call, { signal }) => {
      if (!tools.some(({ name }) => name === call.name)) return undefined;
      try {
        const answer = await session.call(call.name, call.argumentsText ?? JSON.stringify(call.arguments), signal);
        if (!answer.ok) return wrong(answer.error);
        const { blocks, reward, finished } = answer.output;
        return { content: cut(blocksText(blocks), maxOutput), done: finished, ...rewards.give(reward, finished) };
      } catch (error) {
        if (error instanceof ToolRaised && executionErrors === "tell") return wrong(String(error.value));
        throw error;
      }
    },
    /** A message without a call is the end. Where the environment has a tool that grades it, the message goes there. */
    reply: async ({ content }) => {
      if (terminal === undefined) return { done: true };
      const { name, arg } = terminal;
      const answer = await session.call(name, arg === null ? "{}" : JSON.stringify({ [arg]: content }));
      if (answer.ok) return { done: true, ...rewards.give(answer.output.reward, true) };
      throw new RemoteEnvError("refused", `the message for the terminal tool ${name}, as its argument ${arg}`, answer.error, {
        expected: "a grade",
        hint: "The environment does not take the model's last message as it is. This is no reward of 0.",
      });
    },
    score: () => rewards.score(),
    close: () => session.close(),
  };
}
