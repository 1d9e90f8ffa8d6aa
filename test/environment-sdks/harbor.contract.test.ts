import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { conversationFormats } from "../../extensions/formats/conversations/formats.ts";
import { atifOf } from "../../extensions/inspect/export/atif.ts";
import { trainingTraceOf } from "../../extensions/inspect/export/training-trace.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import { openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { readConversations } from "../../src/training/supervised/conversations.ts";
import { addConversationFormats } from "../../src/training/supervised/formats.ts";
import { call, opened, output, script, withPackage } from "./packages.ts";
import { played } from "./played.ts";

const row = { wire: "Harbor", package: "harbor 0.26.0" };

withPackage(
  "harbor",
  "harbor 0.26: a task of its template is played by its solution, the others are refused by name",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "harbor-"));
    const { has } = await output("harbor", [script("harbor_tasks.py"), folder]);
    expect(has).toEqual(["plain", "pytest", "separate"]);
    const environment = await opened("harbor", { tasks: { test: join(folder, "plain") } });
    const reward = async (command: string) => {
      const episode = await environment.start(await environment.task("test", 0), 0);
      const tool = episode.tools[0];
      await (call(episode, tool.name, { command }) ??
        tool.execute({ command } as never, { signal: AbortSignal.timeout(10_000) }));
      return (await episode.score([])).reward;
    };
    expect(await reward(readFileSync(join(folder, "plain/solution/solve.sh"), "utf8"))).toBe(1);
    expect(await reward("echo 11 > /app/sum.txt")).toBe(0);
    const refused = {
      separate: /environment_mode .*separate/,
      pytest: /needs apt-get/,
      check: /docker_image/,
      adapter: /python:3/,
    };
    for (const [name, why] of Object.entries(refused))
      expect(() => createEnvironment("harbor", { tasks: { test: join(folder, name) } })).toThrow(why);
    played({
      ...{ ...row, what: "a task of its `init`, played by its solution; its templates", episodes: 2 },
      result: "reward 1 and 0",
      refused: "harborTasks",
    });
  },
);

interface Trace {
  readonly turns: readonly { readonly completion_token_ids: readonly number[] }[];
}

withPackage(["harbor", "openenv"], "harbor 0.26 and openenv 0.10: their own validators take our episodes", async () => {
  const office = fileURLToPath(new URL("../../models/office", import.meta.url));
  const { engine, chat } = await openModel(office, resolveConfig({}).engine, {
    use: { training: false, length: 1024, concurrency: 4 },
    seed: 1,
  });
  const environment = await opened("office");
  const options = { group: "r", seed: 1, maxTurns: 12, maxTokens: 100, episodeTimeoutMs: 60_000 };
  const files: string[] = [];
  const traces: object[] = [];
  for (let i = 0; i < 4; i++) {
    const trajectory = await rollout(engine, chat, environment, await environment.task("test", i), { ...options, id: `r/${i}` });
    files.push(join(mkdtempSync(join(tmpdir(), "atif-")), "trajectory.json"));
    writeFileSync(files[i], JSON.stringify(atifOf(trajectory, "office"), null, 2));
    // Read as a demonstration, it is the conversation that was had.
    const [{ messages }] = readConversations(files[i]);
    const said = trajectory.messages.slice(0, messages.length).map(({ role, content }) => ({ role, content }));
    expect(messages.map(({ role, content }) => ({ role, content }))).toEqual(said);
    traces.push(trainingTraceOf(trajectory));
  }
  await engine.dispose();
  const code = `
import json, sys
from harbor.utils.trajectory_validator import TrajectoryValidator
validators = [TrajectoryValidator() for file in sys.argv[1:]]
taken = [validator.validate(file) for validator, file in zip(validators, sys.argv[1:])]
calls = sum(len(step.get("tool_calls") or []) for file in sys.argv[1:] for step in json.load(open(file))["steps"])
print(json.dumps({"taken": taken, "errors": [e for v in validators for e in v.get_errors()], "calls": calls}))`;
  const { calls, ...verdict } = await output("harbor", ["-c", code, ...files]);
  expect(verdict).toEqual({ taken: files.map(() => true), errors: [] });
  expect(calls).toBeGreaterThan(0);
  played({
    ...row,
    what: "episodes of the office as ATIF",
    episodes: files.length,
    result: "taken by its `TrajectoryValidator`",
    refused: "nothing",
  });
  writeFileSync(files[0], JSON.stringify(traces));
  const check = `
import json, sys
from openenv.core.harness.training import TrainingTrace
traces = [TrainingTrace.model_validate(trace) for trace in json.load(open(sys.argv[1]))]
print(json.dumps([[turn.completion_token_ids for turn in trace.turns] for trace in traces]))`;
  const taken = await output("openenv", ["-c", check, files[0]]);
  expect(taken).toEqual(traces.map((trace) => (trace as Trace).turns.map(({ completion_token_ids }) => completion_token_ids)));
});

withPackage("openenv", "openenv 0.10: its TrainingTrace is read as demonstrations", async () => {
  const code = `
import json, sys
from openenv.core.harness.training import TrainingTrace
tools = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}]
call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]}
first = [{"role": "user", "content": "When?"}]
second = [*first, call, {"role": "tool", "tool_call_id": "1", "content": "10:00"}]
said = lambda text: {"role": "assistant", "content": text}
def entry(node, messages, message, tools=[], mask=1):
    return {"request": {"messages": messages, "tools": tools}, "response": {"choices": [{"message": message, "finish_reason": "stop"}]},
        "prompt_token_ids": [1, 2], "completion_token_ids": [3], "per_token_logps": [-0.5], "loss_mask": [0, 0, mask], "metadata": {"node_id": node}}
entries = [entry("a", first, call, tools), entry("b", second, said("At 10."), tools), entry("c", [{"role": "user", "content": "A title"}], said("Times"))]
made = {"trace": entries, "masked": [entry("a", first, call, tools, 0)]}
print(json.dumps({name: TrainingTrace.from_entries(each).model_dump() for name, each in made.items()}))`;

  addConversationFormats(conversationFormats);
  const { trace, masked } = await output("openenv", ["-c", code]);
  const file = join(mkdtempSync(join(tmpdir(), "trace-")), "traces.jsonl");
  writeFileSync(file, JSON.stringify(trace));
  const toolCalls = [{ name: "find", arguments: {} }];
  expect(readConversations(file)).toMatchObject([
    {
      messages: [
        { role: "user", content: "When?" },
        { role: "assistant", toolCalls },
        { role: "tool", name: "find", content: "10:00" },
        { role: "assistant", content: "At 10." },
      ],
      tools: [{ name: "find" }],
    },
    { messages: [{ content: "A title" }, { content: "Times" }] },
  ]);
  writeFileSync(file, JSON.stringify(masked));
  expect(() => readConversations(file)).toThrow(/line 1: turns\.0\.loss_mask is .*masks a part.*TrainingTrace/);
  writeFileSync(file, '{"schema_version": 1, "turns": [{"prompt_token_ids": [], "loss_mask": []}]}');
  expect(() => readConversations(file)).toThrow(/turns\.0\.request is /);
});
