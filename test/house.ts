import { join } from "node:path";

/** A part of the house: a folder, or a file that stands alone. */
export interface Part {
  /** Relative to the project's folder. */
  readonly path: string;
  readonly holds: string;
  /** The parts that it may import, all of them above it in the list: so no arrow leads back up. */
  readonly knows: readonly string[];
}

/** The parts, from the ground up. test/imports.test.ts holds the imports to it; docs/architecture.md shows it (`npx jiti scripts/house-page.ts`). */
export const parts: readonly Part[] = [
  {
    path: "src/core",
    holds:
      "shared types: messages, contexts as a tree, trajectories, stop reasons, errors, seeded random numbers, checked settings",
    knows: [],
  },
  {
    path: "src/files",
    holds: "atomic writing, bounded reading, folder locks, the package's own folder",
    knows: ["src/core"],
  },
  {
    path: "src/statistics",
    holds:
      "confidence intervals, exact paired tests, intervals over seeds and tasks, corrections ([evaluation.md](evaluation.md))",
    knows: ["src/core"],
  },
  {
    path: "src/algorithms",
    holds:
      "advantages, objectives and their compositions, SeeUPO, SFT: arithmetic on log-probs ([algorithms](algorithms/README.md))",
    knows: ["src/core"],
  },
  {
    path: "src/hub",
    holds: "models by name: downloaded, verified, kept in a cache ([models.md](models.md))",
    knows: ["src/core", "src/files"],
  },
  { path: "src/http", holds: "outgoing requests, with limits and retries", knows: ["src/core"] },
  {
    path: "src/completions",
    holds: "a client of the chat-completions protocol ([evaluation.md](evaluation.md#chat-endpoints))",
    knows: ["src/core", "src/http"],
  },
  { path: "src/engines/call-order.ts", holds: "applies an engine's calls in order", knows: [] },
  { path: "src/engines/engine.ts", holds: "the interface of an engine", knows: ["src/core"] },
  { path: "src/actions", holds: "parsing text into actions: calls and stop conditions", knows: ["src/core"] },
  {
    path: "src/tools",
    holds: "the interface of a tool, checks of its arguments, its result as text ([tools.md](tools.md))",
    knows: ["src/core"],
  },
  {
    path: "src/chat",
    holds: "tokenizers, chat templates rendered to ids, tool calls parsed from text",
    knows: ["src/core", "src/files", "src/actions", "src/tools"],
  },
  {
    path: "src/engines/registry.ts",
    holds: "the engine kinds that a configuration can select; extensions add theirs",
    knows: ["src/core", "src/engines/engine.ts", "src/chat"],
  },
  {
    path: "src/environments",
    holds: "tasks, episodes and rewards: the interface, `defineEnvironment`, environments by name",
    knows: ["src/core", "src/actions", "src/tools", "src/chat"],
  },
  {
    path: "src/rollouts",
    holds: "episodes, groups of episodes, and trees of them in `branching/` ([rollouts.md](rollouts.md))",
    knows: ["src/core", "src/completions", "src/engines/engine.ts", "src/actions", "src/tools", "src/chat", "src/environments"],
  },
  {
    path: "src/runs",
    holds: "the run folder: schemas, atomic writing, reading, filters ([runs.md](runs.md))",
    knows: ["src/core", "src/files"],
  },
  { path: "src/guard", holds: "the watchdog for third-party code that blocks a run", knows: ["src/core", "src/runs"] },
  {
    path: "src/rewards",
    holds: "composable rewards ([rewards.md](rewards.md))",
    knows: ["src/core", "src/environments", "src/runs"],
  },
  {
    path: "src/findings",
    holds:
      "rules over recorded episodes and steps that find why a run does not learn; run by trainer and dashboard ([warnings.md](warnings.md))",
    knows: ["src/core", "src/algorithms", "src/runs"],
  },
  {
    path: "src/training",
    holds: "configuration, the trainer, evaluation, checkpoints",
    knows: [
      "src/core",
      "src/files",
      "src/statistics",
      "src/algorithms",
      "src/engines/engine.ts",
      "src/tools",
      "src/chat",
      "src/engines/registry.ts",
      "src/environments",
      "src/rollouts",
      "src/runs",
      "src/rewards",
      "src/findings",
    ],
  },
  {
    path: "src/terminal",
    holds: "a run's terminal output, from the command and from code",
    knows: ["src/core", "src/statistics", "src/runs", "src/training"],
  },
  {
    path: "src/sdk",
    holds: "assembles a run from its configuration: environment, model, engine, run folder, trainer",
    knows: [
      "src/core",
      "src/files",
      "src/algorithms",
      "src/hub",
      "src/engines/engine.ts",
      "src/chat",
      "src/engines/registry.ts",
      "src/environments",
      "src/rollouts",
      "src/runs",
      "src/guard",
      "src/rewards",
      "src/training",
      "src/terminal",
    ],
  },
  {
    path: "src/extension.ts",
    holds: "the interface of an extension",
    knows: ["src/engines/registry.ts", "src/environments", "src/rewards", "src/training", "src/sdk"],
  },
  {
    path: "src/cli",
    holds: "the core's commands ([cli.md](cli.md))",
    knows: [
      "src/core",
      "src/files",
      "src/hub",
      "src/completions",
      "src/engines/registry.ts",
      "src/environments",
      "src/runs",
      "src/training",
      "src/terminal",
      "src/sdk",
    ],
  },
  {
    path: "extensions/processes",
    holds: "child processes that end, with all their descendants, when this process ends",
    knows: ["src/core"],
  },
  { path: "extensions/completion", holds: "shell completion of commands and options", knows: ["src/cli"] },
  {
    path: "extensions/http",
    holds: "common code of HTTP servers: keys, bounded bodies, limits on concurrent requests",
    knows: ["src/core"],
  },
  {
    path: "extensions/inference",
    holds: "models served over HTTP, by token ids or messages",
    knows: ["src/core", "src/engines/engine.ts", "src/tools", "src/chat", "extensions/processes", "extensions/http"],
  },
  {
    path: "extensions/local",
    holds:
      "the local engine: tensor graph, differentiation, ONNX Runtime, sampler, AdamW, model folders ([engine.md](engine.md))",
    knows: [
      "src/core",
      "src/files",
      "src/hub",
      "src/engines/call-order.ts",
      "src/engines/engine.ts",
      "src/chat",
      "src/engines/registry.ts",
      "src/runs",
      "src/training",
      "src/terminal",
      "src/sdk",
      "src/cli",
      "extensions/processes",
    ],
  },
  {
    path: "extensions/office",
    holds: "the default environment ([environments/office.md](environments/office.md))",
    knows: ["src/core", "src/algorithms", "src/tools", "src/environments", "src/training"],
  },
  {
    path: "extensions/judge",
    holds: "judges behind endpoints, as a reward ([rewards.md](rewards.md))",
    knows: ["src/core", "src/completions", "src/environments", "src/runs", "src/rewards"],
  },
  {
    path: "extensions/remote/shared",
    holds: "common code of the clients of remote environments",
    knows: ["src/core", "src/files", "src/tools"],
  },
  {
    path: "extensions/remote/openenv",
    holds: "a client of OpenEnv ([environments/remote.md](environments/remote.md))",
    knows: ["src/core", "src/tools", "src/environments", "extensions/remote/shared"],
  },
  {
    path: "extensions/remote/ors",
    holds: "a client of ORS",
    knows: ["src/core", "src/tools", "src/environments", "extensions/remote/shared"],
  },
  {
    path: "extensions/remote/verifiers",
    holds: "a client of verifiers",
    knows: ["src/core", "src/environments", "extensions/http", "extensions/inference", "extensions/remote/shared"],
  },
  {
    path: "extensions/remote/server",
    holds: "serves an environment to OpenEnv and ORS clients",
    knows: [
      "src/core",
      "src/actions",
      "src/tools",
      "src/environments",
      "src/rollouts",
      "src/training",
      "extensions/http",
      "extensions/remote/ors",
    ],
  },
  {
    path: "extensions/tinker/client",
    holds: "a client of Tinker servers, usable alone as `retrograde-rl/tinker` ([tinker.md](tinker.md))",
    knows: ["src/core"],
  },
  {
    path: "extensions/tinker/engine",
    holds: "the engine on a Tinker server: the probe of its losses, packing of turns, recovery",
    knows: [
      "src/core",
      "src/engines/call-order.ts",
      "src/engines/engine.ts",
      "src/engines/registry.ts",
      "extensions/tinker/client",
    ],
  },
  {
    path: "extensions/serve",
    holds: "the command that serves engines and environments",
    knows: [
      "src/core",
      "src/chat",
      "src/training",
      "src/terminal",
      "src/sdk",
      "src/cli",
      "extensions/http",
      "extensions/inference",
      "extensions/local",
      "extensions/remote/server",
    ],
  },
  {
    path: "extensions/demo",
    holds: "word problems, and the demo that trains a published model on them ([demo-smollm2.md](demo-smollm2.md))",
    knows: ["src/core", "src/tools", "src/environments", "src/runs", "src/training", "src/terminal", "src/cli"],
  },
  {
    path: "extensions/formats",
    holds: "conversations in formats other than OpenAI's ([sft.md](sft.md))",
    knows: ["src/core", "src/training"],
  },
  {
    path: "extensions/inspect",
    holds: "commands that chat with models and inspect runs ([runs.md](runs.md))",
    knows: [
      "src/core",
      "src/files",
      "src/statistics",
      "src/engines/engine.ts",
      "src/tools",
      "src/chat",
      "src/environments",
      "src/rollouts",
      "src/runs",
      "src/guard",
      "src/rewards",
      "src/training",
      "src/terminal",
      "src/sdk",
      "src/cli",
    ],
  },
  {
    path: "extensions/dashboard",
    holds:
      "the dashboard's server: reads runs, serves the page ([dashboard.md](dashboard.md)); the page itself is in `dashboard/`",
    knows: ["src/core", "src/files", "src/chat", "src/runs", "src/terminal", "src/cli", "extensions/http", "extensions/inspect"],
  },
  {
    path: "extensions/agents",
    holds: "existing agents, unchanged: their model calls, their programs, their tasks ([agents.md](agents.md))",
    knows: [
      "src/core",
      "src/guard",
      "src/files",
      "src/statistics",
      "src/completions",
      "src/tools",
      "src/chat",
      "src/environments",
      "src/rollouts",
      "src/runs",
      "src/rewards",
      "src/training",
      "src/terminal",
      "src/sdk",
      "src/cli",
      "extensions/processes",
      "extensions/http",
      "extensions/inference",
      "extensions/local",
      "extensions/inspect",
    ],
  },
  {
    path: "extensions/answers",
    holds: "questions with known answers from a file ([own-task.md](own-task.md#only-prompts-and-answers))",
    knows: ["src/core", "src/environments", "extensions/agents"],
  },
  {
    path: "extensions/check",
    holds:
      "checks before training: what an environment needs and gives away ([environments/check.md](environments/check.md)), and which model can learn it, from a few episodes",
    knows: [
      "src/core",
      "src/statistics",
      "src/hub",
      "src/engines/engine.ts",
      "src/tools",
      "src/chat",
      "src/engines/registry.ts",
      "src/environments",
      "src/rollouts",
      "src/guard",
      "src/training",
      "src/terminal",
      "src/sdk",
      "src/cli",
      "extensions/http",
      "extensions/inference",
      "extensions/local",
      "extensions/agents",
      "extensions/answers",
    ],
  },
  {
    path: "extensions/miniwob",
    holds: "pages of MiniWoB++ in jsdom ([environments/miniwob.md](environments/miniwob.md))",
    knows: ["src/core", "src/environments"],
  },
  {
    path: "extensions/tools",
    holds: "the bundled tools: sandboxed Python, search, web pages, MCP, tools of the AI SDK ([tools.md](tools.md))",
    knows: ["src/core", "src/files", "src/tools", "src/environments", "extensions/processes"],
  },
  {
    path: "extensions/remote/nemo-gym",
    holds: "a client of NeMo Gym",
    knows: ["src/core", "src/tools", "src/environments", "extensions/remote/shared", "extensions/tools"],
  },
  {
    path: "extensions/remote/remote.ts",
    holds: "the remote environments by protocol",
    knows: [
      "src/environments",
      "extensions/remote/shared",
      "extensions/remote/openenv",
      "extensions/remote/ors",
      "extensions/remote/verifiers",
      "extensions/remote/nemo-gym",
    ],
  },
  {
    path: "extensions/evals",
    holds: "evaluations of other packages as tasks, agents and rewards ([agents.md](agents.md#evaluations-that-are-rewards))",
    knows: ["src/core", "src/files", "src/completions", "src/environments", "src/training", "extensions/agents"],
  },
  { path: "extensions/defaults.ts", holds: "the default environment, and its defaults for runs", knows: ["anything"] },
  { path: "extensions/engines.ts", holds: "the list of the engines", knows: ["anything"] },
  { path: "extensions/extensions.ts", holds: "the list of extensions and their kinds", knows: ["anything"] },
  { path: "extensions/install.ts", holds: "registers the list with the core", knows: ["anything"] },
  { path: "extensions/commands.ts", holds: "the list of their commands", knows: ["anything"] },
  { path: "entries", holds: "what the package exports, and the program", knows: ["anything"] },
];

/** Returns the part of a module: the longest path that it starts with. Undefined if there is none. */
export function partOf(module: string): Part | undefined {
  const around = parts.filter(({ path }) => module === path || module.startsWith(`${path}/`));
  return around.sort((a, b) => b.path.length - a.path.length)[0];
}

export const root = join(import.meta.dirname, "..");

/** Returns the table of the page, as Markdown. */
export function houseTable(): string {
  const rows = parts.map(({ path, holds }) => `| \`${path}\` | ${holds} |`);
  return ["| part | what is in it |", "|---|---|", ...rows].join("\n");
}
