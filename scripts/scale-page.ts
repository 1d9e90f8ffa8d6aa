/** `npx jiti scripts/scale-page.ts` writes the generated parts of docs/scale.md; `test/scale.test.ts` requires that they are as written. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { calibrations } from "../extensions/plan/calibration.ts";
import { planCommand } from "../extensions/plan/cli/plan.ts";
import { calibrationRows } from "../extensions/plan/lines.ts";
import { tinkerCapabilities } from "../extensions/tinker/engine/capabilities.ts";
import { capabilities, capabilityMeanings } from "../src/core/policy.ts";
import { localCapabilities } from "../src/engines/local/capabilities.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { capabilitiesOf, probedServers } from "./probed-servers.ts";

export const page = join(import.meta.dirname, "../docs/scale.md");

/** The command whose output the page shows. */
export const planned = {
  config: join(import.meta.dirname, "../recipes/papers/qwen3-14b-appworld-seeupo.ts"),
  gpus: "8,16,64",
  offload: true,
};

const table = (rows: readonly (readonly string[])[]) => {
  const [heading, ...body] = rows.map((row) => `| ${row.join(" | ")} |`);
  return [heading, `|${"---|".repeat(rows[0].length)}`, ...body].join("\n");
};

function serverTable(): string {
  const possible = tinkerCapabilities({ accumulates: true, adam: true, clips: true, topLogprobs: true });
  const certain = tinkerCapabilities({ accumulates: false, adam: false, clips: false, topLogprobs: false });
  const columns = probedServers.map((server) => capabilitiesOf(server));
  const rows = capabilities.map((name) => [
    `\`${name}\`: ${capabilityMeanings[name]}`,
    localCapabilities("cpu").includes(name) ? "yes" : "no",
    ...columns.map((has) => (has.includes(name) ? "yes" : "no")),
    certain.includes(name) ? "yes" : possible.includes(name) ? "by the probe" : "no",
  ]);
  return table([
    ["", "local engine", ...probedServers.map(({ name }) => name), "any other server"],
    ["linear loss", "itself", ...probedServers.map(({ findings }) => findings.form), "by the probe"],
    ["probed", "–", ...probedServers.map(({ measured }) => measured), "never by us"],
    ...rows,
  ]);
}

async function planText(): Promise<string> {
  let text = "";
  await planCommand(planned, createScreen({ columns: 110, write: (part) => (text += part) }));
  return `\`\`\`\n${text.trimEnd()}\n\`\`\``;
}

/** The page with its generated parts as they must be. */
export async function withGenerated(markdown: string): Promise<string> {
  const parts: Readonly<Record<string, string>> = {
    servers: serverTable(),
    plan: await planText(),
    calibration: table(calibrationRows(calibrations())),
  };
  return Object.entries(parts).reduce((text, [name, content]) => {
    const between = new RegExp(`(<!-- generated: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`);
    if (!between.test(text)) throw new Error(`docs/scale.md has no part "${name}"`);
    return text.replace(between, (_, start: string, end: string) => `${start}\n${content}\n\n${end}`);
  }, markdown);
}

if (process.argv[1]?.endsWith("scale-page.ts")) writeFileSync(page, await withGenerated(readFileSync(page, "utf8")));
