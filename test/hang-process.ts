import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { train } from "../entries/index.ts";
import { type AgentModel, agentEnvironment } from "../extensions/agents/agent.ts";
import { trainedAgent } from "../extensions/agents/train-agent.ts";
import { serveEnvironment } from "../extensions/remote/server/serve-environment.ts";
import { connectMcp } from "../extensions/tools/mcp/mcp.ts";
import type { Mcp } from "../extensions/tools/mcp/settings.ts";
import { messageOf } from "../src/actions/action.ts";
import type { Environment, Task } from "../src/environments/environment.ts";
import { oneMessage } from "../src/environments/protocol.ts";
import { defineReward } from "../src/rewards/reward.ts";
import type { Tool } from "../src/tools/tool.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import type { TrainingEvent } from "../src/training/record/events.ts";
import { lettersEnvironment } from "./letters.ts";

export type Hanging = "agent" | "program" | "tool" | "reward" | "judge" | "mcp" | "remote" | "exit";

/** A run in which somebody never answers. @param say hears "hanging" when it waits, and warnings @returns its end, in words */
export async function hangingRun(
  kind: Hanging,
  { model, out, timeoutMs }: { readonly model: string; readonly out: string; readonly timeoutMs: number },
  say: (text: string) => void,
  print = false,
): Promise<string> {
  const config = {
    ...(await setupsOf(out, timeoutMs, () => say("hanging\n"))[kind]()),
    ...{ model, out, steps: 1, engine: { threads: 1 }, evaluation: { tasks: 0 }, checkpoint: { every: 100 } },
    algorithm: "grpo",
    rollout: { tasksPerStep: 1, groupSize: 2, maxTokens: 4, maxTurns: 2, episodeTimeoutMs: timeoutMs },
  } as const;
  try {
    const onEvent = (event: TrainingEvent) => (event.type === "warning" ? say(event.message) : undefined);
    const { summary } = await train(config, { print, onEvent });
    return `finished after ${summary.steps} step`;
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : "no error";
  }
}

const letters = lettersEnvironment() as unknown as Environment<Task>;

/** Whatever the model writes is a call of the tool. */
function calling(tool: string, tools: () => Promise<readonly Tool[]>, more: Partial<Environment> = {}): Environment {
  const read = () => messageOf("", [{ name: tool, arguments: {} }]);
  const protocol = { actions: { read }, continuation: oneMessage(() => "u") };
  return {
    ...letters,
    ...more,
    start: async (task, seed) => ({ ...(await letters.start(task, seed)), tools: await tools(), protocol }),
  };
}

/** The part of each configuration in which somebody never answers. @param waits is called when somebody waits */
function setupsOf(
  out: string,
  timeoutMs: number,
  waits: () => void,
): Readonly<Record<Hanging, () => Promise<UserConfig> | UserConfig>> {
  const hang = (): Promise<never> => {
    waits();
    setInterval(() => {}, 1_000); // as a socket that stays open
    return new Promise(() => {});
  };
  const stuck = (execute: () => Promise<never>): Tool => ({
    ...{ name: "stuck", description: "Never answers.", parameters: { type: "object", properties: {} }, timeoutMs, execute },
  });
  let mcp: Mcp | undefined;
  return {
    agent: () => {
      let runs = 0;
      const run = async (_: unknown, { converse }: AgentModel) => {
        if (runs++ > 0) return hang();
        await converse({ messages: [{ role: "user", content: "a" }] });
        return 1;
      };
      return { environment: agentEnvironment({ name: "agent", tasks: { train: [{ prompt: "a" }] }, run }) };
    },
    program: () => {
      const code = `setInterval(() => require("node:fs").appendFileSync(${JSON.stringify(`${out}.lives`)}, "."), 20)`;
      const command = [process.execPath, "-e", code];
      const agent = trainedAgent({ agent: { command }, tasks: { train: [{ prompt: "a" }], test: [] }, reward: () => 1 });
      const started = setInterval(() => {
        if (!existsSync(`${out}.lives`)) return;
        clearInterval(started);
        waits();
      }, 50);
      return { environment: agent as unknown as Environment };
    },
    tool: () => ({ environment: calling("stuck", async () => [stuck(hang)]) }),
    exit: () => ({ environment: calling("stuck", async () => [stuck(() => process.exit(0))]) }),
    mcp: () => {
      const open = async () => {
        const args = [join(import.meta.dirname, "fixtures/mcp/server.mjs")];
        mcp = await connectMcp({ command: process.execPath, args }, { name: "mcp", timeoutMs });
        waits();
      };
      const close = async () => mcp?.close();
      return { environment: calling("hang", async () => mcp?.tools ?? [], { open, close }) };
    },
    reward: () => ({ environment: letters, rewards: [defineReward({ name: "stuck", verify: hang })] }),
    judge: async () => {
      const { createServer } = await import("node:http");
      const server = createServer(hang).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { readonly port: number };
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: null, retries: 0, timeoutMs } as const;
      return { environment: letters, rewards: [judge] };
    },
    remote: async () => {
      const served = { environment: { ...lettersEnvironment(8), start: hang } as unknown as Environment, as: "openenv" } as const;
      const { baseUrl } = await serveEnvironment({ ...served, port: 0, episodeTimeoutMs: 100_000 });
      return { environment: { name: `openenv:${baseUrl.replace("http", "ws")}`, settings: { timeoutMs } } };
    },
  };
}

// A process of its own: `hang-process.ts KIND MODEL FOLDER LIMIT`.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [kind, model, out, limit] = process.argv.slice(2);
  const say = (text: string) => void process.stdout.write(text);
  console.log(await hangingRun(kind as Hanging, { model, out, timeoutMs: Number(limit) }, say, true));
  process.exit(3);
}
