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
import { accessOf, keyOf } from "../shared/settings.ts";
import { errorText, serverTool } from "../shared/tool.ts";
import { OrsSession, ToolRaised } from "./session.ts";
import { type OrsSettings, orsSettingsSchema } from "./settings.ts";
import { blocksText, spoken, type ToolList, versionSchema } from "./wire.ts";

interface OrsTask extends Task {
  readonly split: Split;
  readonly index: number;
}

/** The facts that a server was asked for once. */
interface Described {
  readonly name: string;
  readonly sizes: ReadonlyMap<Split, number>;
}

/**
 * An environment on an ORS server (ors-sdk, OpenReward). Every episode has a session of its own.
 * @param name it is recorded under, such as `ors:https://example.org`
 * @throws ConfigError for wrong settings, or a key that is not set
 */
export function orsEnvironment(name: string, url: string, userSettings: unknown): Environment<OrsTask> {
  return new OrsEnvironment(name, url, parseSettings(orsSettingsSchema, userSettings ?? {}, "environment.settings"));
}

class OrsEnvironment implements Environment<OrsTask> {
  readonly name: string;
  readonly replayable: boolean;
  readonly turnRewards: boolean;
  readonly concurrency?: number;
  readonly #settings: OrsSettings;
  readonly #http: HttpClient;
  readonly #secrets: Readonly<Record<string, string>>;
  readonly #sameStart: SameStart;
  #splits: readonly Split[] = splits;
  /** The server's first environment, or the one of the settings. */
  readonly #describedOnce = once(() => this.#describe());

  constructor(name: string, url: string, settings: OrsSettings) {
    this.name = name;
    this.replayable = settings.replayable;
    this.turnRewards = settings.rewards === "turns";
    if (settings.concurrency !== undefined) this.concurrency = settings.concurrency;
    this.#settings = settings;
    this.#sameStart = new SameStart(settings);
    this.#secrets = Object.fromEntries(
      Object.entries(settings.secretVariables).map(([secret, variable]) => [secret, keyOf({ keyVariable: variable }) ?? ""]),
    );
    const access = accessOf(settings, (key) => ({ "x-api-key": key }));
    const secrets = [...access.secrets, ...Object.values(this.#secrets)];
    this.#http = new HttpClient({ base: url, spoken, ...access, secrets });
  }

  /** Those of the server, once it was asked. */
  get splits(): readonly Split[] {
    return this.#splits;
  }

  async open(): Promise<void> {
    await this.#describedOnce();
  }

  async size(split: Split): Promise<number> {
    return (await this.#describedOnce()).sizes.get(split) ?? 0;
  }

  task(split: Split, index: number): OrsTask {
    return { id: `${split}/${index}`, split, index };
  }

  async start({ id, split, index }: OrsTask): Promise<Episode> {
    const { system, maxOutput } = this.#settings;
    const session = await this.#session({ split, index });
    try {
      const messages = openingOf(await session.opening(), system, maxOutput);
      this.#sameStart.check(id, messages);
      const { tools: listed, terminal_tool: terminal } = await session.tools();
      const tools = listed.map(({ input_schema: parameters, ...tool }) => serverTool({ ...tool, parameters }, this.#settings));
      return orsEpisode(session, { messages, tools, terminal: terminal ?? undefined }, this.#settings);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  async #session({ split, index }: Pick<OrsTask, "split" | "index">): Promise<OrsSession> {
    const { name } = await this.#describedOnce();
    const { pingMs, setupMs } = this.#settings;
    const secrets = Object.keys(this.#secrets).length === 0 ? {} : { secrets: this.#secrets };
    return OrsSession.open(this.#http, { environment: name, split, index, pingMs, setupMs, ...secrets });
  }

  async #describe(): Promise<Described> {
    await this.#recognise();
    const names = await this.#http.json(namesSchema, { path: "/list_environments" });
    const name = this.#settings.environment ?? names[0];
    if (!names.some((known) => known.toLowerCase() === name.toLowerCase()))
      throw new ConfigError("environment.settings.environment", name, { expected: names });
    const sizes = await listedSizes(this.#http, name);
    if (sizes === undefined) throw new RemoteEnvError("expired", `splits of ${name}`, undefined, { expected: "a list of them" });
    this.#splits = [...sizes.keys()];
    return { name, sizes };
  }

  /** Finds out what the server speaks. @throws RemoteEnvError for a version of openreward that is not known here */
  async #recognise(): Promise<void> {
    const answer = await this.#http.ask({ path: "/version" });
    if (answer.status !== 200) return;
    const { version } = this.#http.read(versionSchema, answer.text, "version");
    this.#http.serverVersion = version;
    const [major, minor] = version.split(".").map(Number);
    if (major === 0 && minor === 1) return;
    throw new RemoteEnvError("malformed", "version of the server at /version", version, {
      expected: spoken,
      hint: "A server of another version may mean other things by the same names, so it is not played.",
    });
  }
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
