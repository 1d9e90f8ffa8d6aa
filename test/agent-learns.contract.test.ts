import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { trainAgent } from "../extensions/agents/taught-agent.ts";
import type { AgentTraining } from "../extensions/agents/train-agent.ts";
import { readMetrics } from "../src/runs/read.ts";

/** Agents that know nothing of this package, trained for a few steps from the bundled model: they get better. */

// Inside of the project, so that the agent finds its packages.
const folder = mkdtempSync(join(import.meta.dirname, "../node_modules/.agent-learns-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Who is away has a deputy that reads the messages: the bundled model writes to the deputy, these users want the person itself. */
const people = [
  { id: "c11", name: "Ana Silva", deputy: "Finn Silva" },
  { id: "c14", name: "Dana Park", deputy: "Ida Park" },
  { id: "c15", name: "Finn Silva" },
  { id: "c16", name: "Ida Park" },
];
const tasks = ["Hello", "Welcome"].flatMap((word) =>
  people.slice(0, 2).map(({ id, name }) => ({ prompt: `Tell ${name}: ${word}.`, sent: `${id} ${word}` })),
);

const streaming = join(folder, "agent.ts");
writeFileSync(
  streaming,
  `import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const people = ${JSON.stringify(people)};
export default async (prompt: string) => {
  const sent: string[] = [];
  const tools = {
    find_contact: tool({
      description: "People with this name. A deputy reads the messages of somebody who is away.",
      inputSchema: z.object({ name: z.string() }),
      execute: async ({ name }) => people.filter((person) => person.name === name),
    }),
    send_message: tool({
      description: "Sends a message to a contact.",
      inputSchema: z.object({ id: z.string(), text: z.string() }),
      execute: async ({ id, text }) => String(sent.push(\`\${id} \${text}\`)),
    }),
  };
  const system = "You are an office assistant.";
  const { textStream } = streamText({ model: "openai/gpt-5-mini", system, prompt, tools, stopWhen: stepCountIs(5) });
  for await (const _ of textStream);
  return sent.join();
};
`,
);
const python = join(folder, "agent.py");
writeFileSync(
  python,
  `import json, os, sys, urllib.request

people = ${JSON.stringify(people)}
def tool(name, description, *fields):
    parameters = {"type": "object", "properties": {field: {"type": "string"} for field in fields}, "required": list(fields)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
tools = [
    tool("find_contact", "People with this name. A deputy reads the messages of somebody who is away.", "name"),
    tool("send_message", "Sends a message to a contact.", "id", "text"),
]
sent = []
messages = [{"role": "system", "content": "You are an office assistant."}]
messages.append({"role": "user", "content": json.loads(sys.stdin.readline())["prompt"]})
for _ in range(5):
    body = json.dumps({"model": "gpt-5-mini", "messages": messages, "tools": tools}).encode()
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        message = json.load(answer)["choices"][0]["message"]
    messages.append(message)
    for call in message.get("tool_calls") or []:
        given = json.loads(call["function"]["arguments"])
        if call["function"]["name"] == "find_contact":
            result = json.dumps([person for person in people if person["name"] == given.get("name")])
        else:
            sent.append(f"{given.get('id')} {given.get('text')}")
            result = str(len(sent))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    if not message.get("tool_calls"):
        break
print(",".join(sent))
`,
);

function hasPython(): boolean {
  try {
    return execFileSync("python3", ["--version"]).length > 0;
  } catch {
    return false;
  }
}

async function learns(agent: AgentTraining["agent"], steps: number, out: string) {
  await trainAgent(
    {
      ...{ agent, tasks, model: "bundled:office", algorithm: "grpo", steps, out: join(folder, out) },
      reward: ({ task, answer }) => Number(answer === task.sent),
      engine: { threads: 1 },
      optimizer: { learningRate: 4e-4 },
      rollout: { tasksPerStep: 4, groupSize: 8, episodeTimeoutMs: 120_000 },
      evaluation: { tasks: 0 },
    },
    { print: false },
  );
  return readMetrics(join(folder, out)).map(({ metrics }) => Number(metrics.reward));
}

test("an agent of the AI SDK that streams learns whom to write to", async () => {
  const rewards = await learns(streaming, 2, "streaming");
  expect(rewards.at(-1), rewards.join()).toBeGreaterThan((rewards[0] ?? 1) + 0.2);
});

test.skipIf(!hasPython())("a program in Python learns it too", async () => {
  const rewards = await learns({ command: ["python3", python] }, 5, "python");
  expect(rewards.at(-1), rewards.join()).toBeGreaterThan((rewards[0] ?? 1) + 0.1);
});
