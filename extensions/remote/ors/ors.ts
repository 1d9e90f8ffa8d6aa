import type { Message, ToolCall } from "../../../src/core/messages.ts";
import { parseSettings } from "../../../src/core/settings.ts";
import {
  type CallAnswer,
  type Environment,
  type Episode,
  type Reply,
  type Split,
  splits,
  type Task,
} from "../../../src/environments/environment.ts";
import { cut } from "../../../src/tools/cut.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { HttpClient } from "../shared/http.ts";
import { SameStart } from "../shared/same-start.ts";
import { keyOf } from "../shared/settings.ts";
import { errorText, notCalled } from "../shared/tool.ts";
import { OrsSession, ToolRaised } from "./session.ts";
import { type OrsSettings, orsSettingsSchema } from "./settings.ts";
import { blocksText, countSchema, namesSchema, splitsSchema } from "./wire.ts";

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
  readonly #sameStart = new SameStart();
  #splits: readonly Split[] = splits;
  #described: Promise<Described> | undefined;

  constructor(name: string, url: string, settings: OrsSettings) {
    this.name = name;
    this.replayable = settings.replayable;
    this.turnRewards = settings.rewards === "turns";
    if (settings.concurrency !== undefined) this.concurrency = settings.concurrency;
    this.#settings = settings;
    const key = keyOf(settings);
    this.#secrets = Object.fromEntries(
      Object.entries(settings.secretVariables).map(([secret, variable]) => [secret, keyOf({ keyVariable: variable }) ?? ""]),
    );
    this.#http = new HttpClient({
      base: url,
      timeoutMs: settings.timeoutMs,
      maxBytes: settings.maxAnswer * 2 ** 20,
      ...(key === undefined ? {} : { headers: { "x-api-key": key }, secret: key }),
    });
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

  async start({ id, split, index }: OrsTask): Promise<OrsEpisode> {
    const { name } = await this.#describedOnce();
    const { system, sameStart, pingMs, maxOutput, replayable } = this.#settings;
    const secrets = Object.keys(this.#secrets).length === 0 ? {} : { secrets: this.#secrets };
    const session = await OrsSession.open(this.#http, { environment: name, split, index, pingMs, ...secrets });
    try {
      const prompt = cut(blocksText(await session.prompt()), maxOutput);
      const messages: Message[] = [
        ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
        { role: "user", content: prompt === "" ? "Begin." : prompt },
      ];
      if (sameStart === "require") this.#sameStart.check(id, messages);
      const tools = (await session.tools()).map(
        ({ name: tool, description, input_schema }): Tool => ({
          name: tool,
          description,
          parameters: input_schema,
          replayable,
          execute: notCalled,
        }),
      );
      return new OrsEpisode(session, messages, tools, this.#settings);
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** The server's first environment, or the one of the settings. It is asked once; after a failure again. */
  #describedOnce(): Promise<Described> {
    this.#described ??= this.#describe().catch((error: unknown) => {
      this.#described = undefined;
      throw error;
    });
    return this.#described;
  }

  async #describe(): Promise<Described> {
    const [first] = await this.#http.json(namesSchema, { path: "/list_environments" });
    const name = this.#settings.environment ?? first;
    const path = `/${encodeURIComponent(name)}`;
    const names = (await this.#http.json(splitsSchema, { path: `${path}/splits` })).map((split) => split.name);
    const sizes = await Promise.all(
      names.map(async (split) => {
        const { num_tasks } = await this.#http.json(countSchema, { method: "POST", path: `${path}/num_tasks`, body: { split } });
        return [split, num_tasks] as const;
      }),
    );
    this.#splits = names;
    return { name, sizes: new Map(sizes) };
  }
}

/** One episode on a session. */
class OrsEpisode implements Episode {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly #session: OrsSession;
  readonly #settings: OrsSettings;
  #return = 0;

  constructor(session: OrsSession, messages: readonly Message[], tools: readonly Tool[], settings: OrsSettings) {
    this.#session = session;
    this.messages = messages;
    this.tools = tools;
    this.#settings = settings;
  }

  async call(call: ToolCall, { signal }: { readonly signal: AbortSignal }): Promise<CallAnswer | undefined> {
    if (!this.tools.some(({ name }) => name === call.name)) return undefined;
    const { maxOutput, rewards, executionErrors } = this.#settings;
    const wrong = (message: string): CallAnswer => ({
      content: cut(errorText(message), maxOutput),
      valid: false,
      failure: "invalid",
    });
    try {
      const answer = await this.#session.call(call.name, call.argumentsText ?? JSON.stringify(call.arguments), signal);
      if (!answer.ok) return wrong(answer.error);
      const { blocks, reward, finished } = answer.output;
      this.#return += reward ?? 0;
      const given = rewards === "turns" && typeof reward === "number" ? { reward } : {};
      return { content: cut(blocksText(blocks), maxOutput), done: finished, ...given };
    } catch (error) {
      if (error instanceof ToolRaised && executionErrors === "tell") return wrong(String(error.value));
      throw error;
    }
  }

  /** Everything happens through tools: a message without a call is the end. */
  reply(): Reply {
    return { done: true };
  }

  score(): { readonly reward: number } {
    return { reward: this.#settings.rewards === "return" ? this.#return : 0 };
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
