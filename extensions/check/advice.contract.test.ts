import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { invoke } from "../../test/command-line.ts";

test("without a model advise lists those that can be trained here, with licence and tool calling, and plays nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-advise-"));
  const [agent, tasks] = [join(folder, "agent.mjs"), join(folder, "tasks.jsonl")];
  writeFileSync(agent, "export default () => { throw new Error('played'); };\nexport const reward = () => 1;\n");
  writeFileSync(tasks, '{"prompt":"Hello"}\n');
  const flags = [agent, "--tasks", tasks, "--reward", agent, "--memory", "4"];
  const listed = await invoke("advise", ...flags, "--hours", "1e6");
  expect(listed).toMatchObject({ exitCode: 0, error: "" });
  expect(listed.out).toMatch(/smollm2 +135 M .* by demonstrations +Apache-2\.0/);
  expect(listed.out).toMatch(/qwen2\.5-0\.5b .* trained to +Apache-2\.0/);
  expect(listed.out).toMatch(/gemma3 .* Gemma's terms/);
  expect(listed.out.replaceAll(/\s+/g, " ")).toContain(`advise ${flags.slice(0, 5).join(" ")} --model qwen2.5-0.5b`);
  const { fitting, next } = JSON.parse((await invoke("advise", ...flags, "--hours", "1e-6", "--json")).out);
  expect(fitting[0]).toMatchObject({ name: "smollm2", licence: "Apache-2.0", callsTools: false, form: "an adapter" });
  // What was trained to call tools takes too long: the smallest one needs demonstrations.
  expect(next).toContain(`train-agent ${flags.slice(0, 5).join(" ")} --model smollm2 --teacher`);
  const none = await invoke("advise", ...flags.slice(0, 5), "--memory", "0.1");
  expect(none.out).toMatch(/No published model .* 0\.10 GiB/);
});
