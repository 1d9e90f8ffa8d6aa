import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deepResearchEnvironment } from "./deep-research.ts";

export const folder = mkdtempSync(join(tmpdir(), "deep-research-"));

export const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
export const train = file("train.jsonl", `${JSON.stringify({ question: "How high is the Owl Peak, twice?", answer: "842" })}\n`);
export const recorded = file(
  "recorded.json",
  JSON.stringify({ "owl peak": "Page 1: The Owl Peak is 421 m high.\nPage 2: Owls.", "search query: peaks": "Page 1: Many." }),
);
export const settings = { data: { train }, recorded };
export const environment = deepResearchEnvironment(settings);

export const search = '<think>look</think><search> "owl peak" </search>';
export const found = " <result>\nPage 1: The Owl Peak is 421 m high.\nPage 2: Owls.\n</result>";
export const python = "<think>twice</think><python>\nh = 421\n2 * h\n</python>";
export const answer = "<think>done</think><answer>It is \\boxed{842}</answer>";
export const asked = (query: string) => `<search>${query}</search>`;

export const inEvaluation = deepResearchEnvironment({ ...settings, protocol: "evaluation" });
