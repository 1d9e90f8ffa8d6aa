/**
 * Trains in an environment with each of a newcomer's mistakes (mistakes.config.ts), and writes what is printed into research/notes/mistakes.md.
 *
 *     npm run build && npx jiti research/bench/mistakes.ts [NAME …]
 *
 * With names it prints the whole output of those.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMessages } from "../../src/runs/live.ts";
import { mistakes } from "./mistakes.config.ts";

const project = join(import.meta.dirname, "../..");
const root = mkdtempSync(join(tmpdir(), "retrograde-mistakes-"));
const patienceMs = 180_000;
const longest = 320;
/** What no run can see: the command that looks for it. */
const checked = ["stateShared", "tasksMathRandom"];

/** What a run says of many mistakes, once it learns nothing: the name is enough beside a message of its own. */
const general = /^(start-at-zero|start-at-hundred|equal-rewards|constant-reward|no-signal|one-bad-end|no-tool-calls) /;

interface Told {
  readonly code: number | null;
  readonly output: string;
  /** Warnings of the run by name, the first of each, then the error. */
  readonly messages: readonly string[];
}

async function run(name: string): Promise<Told> {
  const out = join(root, name);
  const config = ["--config", join(import.meta.dirname, "mistakes.config.ts")];
  const args = checked.includes(name) ? ["env", "check", ...config] : ["train", "--no-dashboard", ...config, "--out", out];
  const env = { ...process.env, MISTAKE: name, NO_COLOR: "1" };
  const child = spawn(process.execPath, [join(project, "dist/entries/main.js"), ...args], { env, cwd: root });
  const text = { out: "", error: "" };
  child.stdout.on("data", (data: Buffer) => (text.out += data));
  child.stderr.on("data", (data: Buffer) => (text.error += data));
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  const warnings = readMessages(out).flatMap(({ level, message }) => (level === "warning" ? [message] : []));
  const first = new Map(warnings.toReversed().map((message) => [message.split(" ")[0], message]));
  const errors = text.error.split("\n").filter((line) => line.startsWith("error: "));
  const said = (checked.includes(name) && /Not the same the second time\n +(.*)/.exec(text.out)?.slice(1)) || [];
  return { code, output: text.out + text.error, messages: [...said, ...[...first.values()].toReversed(), ...errors] };
}

const asked = process.argv.slice(2);
const told = new Map<string, Told>();
for (const name of asked.length > 0 ? asked : Object.keys(mistakes)) {
  told.set(name, await run(name));
  console.log(`${name}: exit ${told.get(name)?.code}`);
  if (asked.length > 0) console.log(told.get(name)?.output);
}
if (asked.length === 0) writeFileSync(join(project, "research/notes/mistakes.md"), page());
rmSync(root, { recursive: true });

function page(): string {
  const rows = Object.entries(mistakes).flatMap(([name, [what]]) => {
    if (name === "fine") return [];
    const { code, messages = [] } = told.get(name) ?? {};
    const own = messages.filter((message) => !general.test(message));
    const names = messages.flatMap((message) => general.exec(message)?.[1] ?? []);
    const others = messages.length > own.length && own.length > 0 ? [`${own.length > 0 ? "also " : ""}${names.join(", ")}`] : [];
    const shown = own.length > 0 ? [...new Set(own.map(cell)), ...others] : messages.slice(0, 1).map(cell);
    return [
      `| ${what}${checked.includes(name) ? " (`env check`)" : ""} | ${shown.join("<br>") || "nothing: it trains"} | ${code} |`,
    ];
  });
  const intro = [
    `What is printed for ${rows.length} mistakes of newcomers, in an environment of one tool and two training steps. Long messages are cut here.`,
    "`npx jiti research/bench/mistakes.ts` makes each of them, runs `retrograde-rl train --config …`, and writes this page.",
  ];
  const head = ["# Mistakes, and what is said of them", "", ...intro, "", "| mistake | printed | exit code |", "|---|---|---|"];
  return [...head, ...rows, ""].join("\n");
}

function cell(message: string): string {
  const text = message
    .replaceAll(root, "…")
    .replace(/^error: /, "")
    .replaceAll("`", "'")
    .replaceAll("|", "\\|")
    .replace(/\s+/g, " ");
  return `\`${text.length > longest ? `${text.slice(0, longest)} …` : text}\``;
}
