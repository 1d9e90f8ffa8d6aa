import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeProtocol, ProtocolError } from "./protocol.ts";
import { type Attempt, readResults } from "./results.ts";
import "../install.ts";

export const names = ["Ana", "Bo", "Cem", "Dörte"];
export const protocol = makeProtocol(
  {
    ...{ name: "names", source: "", split: "test" },
    tasks: names.map((name) => ({ id: `test/${name}`, messages: [{ role: "user", content: `Say ${name}.` }], answers: [name] })),
    scorer: { kind: "equal", ignore: ["case", "spaces"] },
    sampling: { greedy: true, attempts: 2, temperature: 1, topP: 1, maxTokens: 8, maxTurns: 1, seed: 3 },
  },
  0.2,
);
export const folder = mkdtempSync(join(tmpdir(), "protocol-"));
export let written = 0;
export function file(text: string): string {
  const path = join(folder, `${written++}`);
  writeFileSync(path, text);
  return path;
}
export const header = {
  protocol: protocol.sha256,
  scorer: protocol.scorer.sha256,
  sampling: protocol.sampling,
  model: "m",
  program: "p",
};

/** All attempts of a player that answers the first `right` tasks. */
export const attemptsBy = (right: number): Attempt[] =>
  protocol.tasks.flatMap(({ sha256: task, answers = [] }, i) =>
    (["greedy", "sampled", "sampled"] as const).map((decoding, j) => ({
      ...{ task, decoding, attempt: Math.max(0, j - 1) },
      ...(i < right ? { answer: ` ${answers[0]?.toLowerCase()}\n`, reward: 1 } : { answer: "none", reward: 0 }),
    })),
  );
export const results = (attempts: readonly object[], head: object = header) =>
  file([head, ...attempts].map((line) => `${JSON.stringify(line)}\n`).join(""));
export const refused = (path: string, by = protocol) => {
  try {
    readResults(path, by);
  } catch (error) {
    if (error instanceof ProtocolError) return `${error.problem}: ${error.message.replaceAll(path, "FILE")}`;
    throw error;
  }
  return "accepted";
};
