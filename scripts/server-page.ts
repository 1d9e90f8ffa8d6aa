/** `npx jiti scripts/server-page.ts` writes the table of servers in docs/tinker.md; `test/server-page.test.ts` requires that it is as written. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { localCapabilities } from "../extensions/local/capabilities.ts";
import { tinkerCapabilities } from "../extensions/tinker/engine/capabilities.ts";
import { capabilities, capabilityMeanings } from "../src/core/policy.ts";
import { capabilitiesOf, probedServers } from "./probed-servers.ts";

export const page = join(import.meta.dirname, "../docs/tinker.md");

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

/** The page with its table as it must be. */
export function withGenerated(markdown: string): string {
  const between = /(<!-- generated: servers -->\n)[\s\S]*?(<!-- end -->)/;
  if (!between.test(markdown)) throw new Error('docs/tinker.md has no part "servers"');
  return markdown.replace(between, (_, start: string, end: string) => `${start}\n${serverTable()}\n\n${end}`);
}

if (process.argv[1]?.endsWith("server-page.ts")) writeFileSync(page, withGenerated(readFileSync(page, "utf8")));
