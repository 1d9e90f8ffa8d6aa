/**
 * `npx jiti bench/wires.ts [--wire NAME] [--sessions N] [--steps N]`: what a step of an environment on another server costs on our side, for each wire, with
 * many sessions in flight. Client and server are processes of their own; both are ours, so each column is one side. Processor time (user and
 * system) for each step, and for each episode beside its steps: open, prompt, tools, close.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { z } from "zod";
import { createEnvironment } from "../entries/index.ts";
import { serveOpenenv } from "../extensions/remote/server/openenv.ts";
import { serveOrs } from "../extensions/remote/server/ors.ts";
import { defineEnvironment } from "../src/environments/define.ts";
import type { Environment, Episode } from "../src/environments/environment.ts";
import { defineTool } from "../src/tools/tool.ts";

const servers = { openenv: serveOpenenv, ors: serveOrs };
type Wire = keyof typeof servers;

const echoing = (): Environment =>
  defineEnvironment({
    name: "echoing",
    tasks: { train: [{ prompt: "Say something." }] },
    start: () => ({
      tools: [
        defineTool({
          name: "echo",
          description: "Says it again.",
          parameters: z.object({ text: z.string() }),
          execute: ({ text }) => text,
        }),
      ],
      reward: () => 1,
    }),
  });

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** The other process: it serves, and says its processor time when it is asked. */
async function serveHere(wire: Wire): Promise<void> {
  const server = await servers[wire]({
    ...{ environment: echoing(), host: "127.0.0.1", port: 0, keys: [], sessions: 1000, sessionMs: 60_000, maxBytes: 2 ** 20 },
    ...{ seed: 0, episodeTimeoutMs: 10_000, maxTurns: 100_000 },
  });
  process.on("message", () => process.send?.({ ms: processorMs() }));
  process.send?.({ url: server.baseUrl });
}

const heard = (child: ChildProcess) =>
  new Promise<{ url?: string; ms?: number }>((resolve) => child.once("message", resolve as never));

async function measure(wire: Wire, sessions: number, steps: number): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ["--serve", wire], { execArgv: ["--import", "jiti/register"] });
  const { url } = await heard(child);
  const serverMs = async () => {
    const answer = heard(child);
    child.send("time");
    return (await answer).ms ?? 0;
  };
  const environment = createEnvironment(`${wire}:${url}`, { timeoutMs: 60_000 });
  await environment.open?.();
  const task = await environment.task("train", 0);
  const play = async (episode: Episode, count: number) => {
    const { signal } = new AbortController();
    for (let i = 0; i < count; i++) {
      const answer = await episode.call?.({ name: "echo", arguments: { text: `message ${i}` } }, { signal });
      if (typeof answer !== "object" || answer.content !== `message ${i}`) throw new Error(`answered ${JSON.stringify(answer)}`);
    }
  };
  // Both sides are compiled before they are measured.
  const warm = await environment.start(task, 0);
  await play(warm, 500);
  await warm.close?.();

  const at = async () => ({ wall: performance.now(), client: processorMs(), server: await serverMs() });
  const begin = await at();
  const episodes = await Promise.all(Array.from({ length: sessions }, () => environment.start(task, 0)));
  const opened = await at();
  await Promise.all(episodes.map((episode) => play(episode, steps)));
  const played = await at();
  await Promise.all(episodes.map((episode) => episode.close?.()));
  const closed = await at();
  child.kill();

  const perStep = (side: "wall" | "client" | "server") => ((played[side] - opened[side]) / (sessions * steps)).toFixed(3);
  const perEpisode = (side: "client" | "server") =>
    ((opened[side] - begin[side] + closed[side] - played[side]) / sessions).toFixed(2);
  console.log(
    `${wire.padEnd(8)} ${sessions} sessions × ${steps} steps: client ${perStep("client")} ms, server ${perStep("server")} ms of processor a step ` +
      `(${perStep("wall")} ms of time); ${perEpisode("client")} and ${perEpisode("server")} ms an episode besides`,
  );
}

const options = new Command("wires")
  .option("--sessions <n>", "in flight", Number, 200)
  .option("--steps <n>", "of each session", Number, 50)
  .option("--wire <name>", "only one: openenv or ors")
  .option("--serve <wire>", "the other process")
  .parse()
  .opts<{ sessions: number; steps: number; wire?: Wire; serve?: Wire }>();

if (options.serve !== undefined) await serveHere(options.serve);
else
  for (const wire of options.wire ? [options.wire] : (["openenv", "ors"] as const))
    await measure(wire, options.sessions, options.steps);
