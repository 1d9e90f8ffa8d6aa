/**
 * Trains in an environment with each of a newcomer's mistakes (mistakes.config.ts), and writes what is printed into docs/mistakes.md.
 *
 *     npm run build && npx jiti bench/mistakes.ts [NAME …]
 *
 * With names it prints the whole output of those.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readMessages } from "../src/runs/live.ts";
import { mistakes } from "./mistakes.config.ts";

const project = join(import.meta.dirname, "..");
const root = mkdtempSync(join(tmpdir(), "retrograde-mistakes-"));
const patienceMs = 180_000;
const longest = 320;
/** What no run can see: the command that looks for it. */
const checked = ["stateShared", "tasksMathRandom"];

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
  const said = checked.includes(name) ? text.out.split("\n").filter((line) => line.startsWith("✗")) : [];
  return { code, output: text.out + text.error, messages: [...said, ...[...first.values()].toReversed(), ...errors] };
}

const asked = process.argv.slice(2);
const told = new Map<string, Told>();
for (const name of asked.length > 0 ? asked : Object.keys(mistakes)) {
  told.set(name, await run(name));
  console.log(`${name}: exit ${told.get(name)?.code}`);
  if (asked.length > 0) console.log(told.get(name)?.output);
}
if (asked.length === 0) writeFileSync(join(project, "docs/mistakes.md"), page());
rmSync(root, { recursive: true });

function page(): string {
  const usual = new Set((told.get("fine")?.messages ?? []).map((message) => message.split(" ")[0]));
  const rows = Object.entries(mistakes).flatMap(([name, [what]]) => {
    if (name === "fine") return [];
    const { code, messages = [] } = told.get(name) ?? {};
    const telling = messages.filter((message) => !usual.has(message.split(" ")[0]));
    const shown = telling.length === 0 ? "nothing: it trains" : telling.map((message) => `\`${cell(message)}\``).join("<br>");
    return [`| ${what}${checked.includes(name) ? " (`env check`)" : ""} | ${shown} | ${code} |`];
  });
  const intro = [
    `What is printed for ${rows.length} mistakes of newcomers, in an environment of one tool and two training steps. Made by`,
    "`npx jiti bench/mistakes.ts`, which runs every one of them as `retrograde train --config …` and writes this table. Long messages are cut here.",
  ];
  return [
    "# Mistakes, and what is said of them",
    "",
    ...intro,
    "",
    "| mistake | printed | exit code |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function cell(message: string): string {
  const text = message
    .replaceAll(root, "…")
    .replace(/^error: /, "")
    .replaceAll("`", "'")
    .replaceAll("|", "\\|")
    .replace(/\s+/g, " ");
  return text.length > longest ? `${text.slice(0, longest)} …` : text;
}
