/**
 * `npx jiti scripts/reference-pages.ts` writes the tables of settings and commands from the schemas and the commands;
 * `test/reference-pages.test.ts` requires that they are as written.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { z } from "zod";
import { commands as added, subjects } from "../extensions/commands.ts";
import "../research/install.ts";
import { pathOf } from "../src/cli/modes.ts";
import { environmentSchemas } from "../src/environments/registry.ts";
import { rewardSchemas } from "../src/rewards/config.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { settingsSchema } from "../src/training/config/settings.ts";

const root = join(import.meta.dirname, "..");
export const pages = [
  ...["docs/configuration.md", "docs/cli.md"],
  ...["bfcl/README.md", "benchmarks/deep-research.md"].map((name) => `research/${name}`),
].map((name) => join(root, name));

const table = (heading: readonly string[], rows: readonly (readonly string[])[]) =>
  [heading, heading.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`.replaceAll("|  |", "| |")).join("\n");

type Schema = z.core.$ZodType;
interface Setting {
  readonly path: string;
  readonly fallback: unknown;
  readonly meaning: string | undefined;
}

const inner = (schema: Schema): Schema | undefined =>
  schema instanceof z.ZodLazy
    ? schema.unwrap()
    : schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional
      ? schema.def.innerType
      : undefined;

function description(schema: Schema): string | undefined {
  const next = inner(schema);
  return z.globalRegistry.get(schema)?.description ?? (next && description(next));
}

/** The settings of an object by their paths. One that is described as a whole is one setting. */
export function settingsOf(schema: Schema, path = "", fallback?: unknown, around?: string): Setting[] {
  const next = inner(schema);
  const meaning = path === "" ? undefined : (around ?? description(schema));
  if (next !== undefined) {
    const given = schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ? schema.def.defaultValue : fallback;
    return settingsOf(next, path, given, meaning);
  }
  if (schema instanceof z.ZodLiteral) return [];
  if (!(schema instanceof z.ZodObject) || meaning !== undefined) return [{ path, fallback, meaning }];
  const given = (fallback ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(schema.shape).flatMap(([key, field]) =>
    settingsOf(field, path === "" ? key : `${path}.${key}`, given[key]),
  );
}

/** Text beyond this is shown by its beginning. */
const longestDefault = 60;

function shown(value: unknown): string {
  if (value === undefined) return "";
  const text = typeof value === "number" && value < 1e-5 && value > 0 ? value.toExponential() : JSON.stringify(value);
  return `\`${text.length > longestDefault ? `${text.slice(0, longestDefault / 2).replace(/ \w*$/, "")} …"` : text}\``;
}

const settingsTable = (schema: Schema, prefix = "") =>
  table(
    ["setting", "default", "meaning"],
    settingsOf(schema).map(({ path, fallback, meaning }) => {
      if (meaning === undefined)
        throw new Error(`the setting ${prefix}${path} has no description: add .describe() to its schema`);
      return [`\`${prefix}${path}\``, shown(fallback), meaning];
    }),
  );

const part = (name: keyof typeof settingsSchema.shape): Schema => {
  const options = unwrapped(settingsSchema.shape[name]);
  const objects =
    options instanceof z.ZodUnion ? options.def.options.filter((option) => option instanceof z.ZodObject) : [options];
  return objects[0];
};

function unwrapped(schema: Schema): Schema {
  const next = inner(schema);
  return next === undefined ? schema : unwrapped(next);
}

/** The options of a union by their kinds. */
function kindsOf(schema: Schema): Map<string, z.ZodObject> {
  const union = unwrapped(schema);
  if (!(union instanceof z.ZodUnion)) throw new Error("a schema of several kinds was expected");
  return new Map(
    (union.def.options as z.ZodObject[]).map((option) => [String((option.shape.kind as z.ZodLiteral).value), option]),
  );
}

const kindOf = ({ shape }: z.ZodObject) => String((shape.kind as z.ZodLiteral).value);
const rewardOf = (kind: string) => rewardSchemas().find((schema) => kindOf(schema) === kind);

/** Settings of the run that are no tables of their own. */
const grouped = ["chat", "rollout", "correction", "optimizer", "evaluation", "checkpoint", "record", "limits"] as const;
const single = ["model", "steps", "seed", "out"] as const;

const shape = (names: readonly (keyof typeof settingsSchema.shape)[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, settingsSchema.shape[name]])) as z.ZodRawShape);

/** The settings of a reward beside those that every reward has. */
const own = (reward?: z.ZodObject) =>
  z.object(Object.fromEntries(Object.entries(reward?.shape ?? {}).filter(([name]) => !/^(?:kind|name|weight)$/.test(name))));

function command(of: Command): string[] {
  const usage = [pathOf(of), ...of.registeredArguments.map((each) => (each.required ? `<${each.name()}>` : `[${each.name()}]`))];
  const text = of.description().replaceAll(/\s*\n\s*/g, " ");
  return [`\`${usage.join(" ")}\``, text];
}

function commandTables(): { readonly commands: string; readonly options: string } {
  const screen = createScreen({ write: () => true });
  const program = new Command("retrograde-rl");
  const tools = { screen, errorScreen: screen, exit: () => {}, examples: () => "", subjects };
  for (const add of added) add(program, tools);
  const below = (of: Command): Command[] => [of, ...of.commands.flatMap(below)];
  const all = program.commands.flatMap(below).filter(({ options }) => options.length > 0);
  const users = (flags: string) => all.filter(({ options }) => options.some((option) => option.flags === flags));
  const flags = [...new Set(all.flatMap(({ options }) => options.map((option) => option.flags)))];
  const common = new Set(flags.filter((each) => users(each).length > 5));
  const options = [...common].map((each) => {
    const [option] = users(each)[0].options.filter((one) => one.flags === each);
    return [`\`${each}\``, option.description.replace(/ \(default: .*\)$/, "")];
  });
  return {
    commands: table(["command", "purpose"], all.map(command)),
    options: table(["option of several commands", "meaning"], options),
  };
}

function generated(name: string): string {
  const [group, key = ""] = name.split(" ");
  if (group === "run") return settingsTable(shape(single));
  if (group === "settings") return settingsTable(part(key as (typeof grouped)[number]), `${key}.`);
  if (group === "engine") return settingsTable(kindsOf(settingsSchema.shape.engine).get(key) ?? z.never(), "engine.");
  if (group === "environment") return settingsTable(environmentSchemas().get(key) ?? z.never());
  if (group === "reward") return settingsTable(own(rewardOf(key)));
  if (group === "commands") return commandTables().commands;
  if (group === "options") return commandTables().options;
  throw new Error(`no table of the name "${name}"`);
}

/** A page with its tables as they must be. */
export function withReference(markdown: string): string {
  return markdown.replaceAll(
    /(<!-- generated: (.*?) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => `${start}\n${generated(name)}\n\n${end}`,
  );
}

/** The tables that the pages must have between them: one for every group of settings, engine and reward. */
export const required = [
  "run",
  ...grouped.map((name) => `settings ${name}`),
  ...[...kindsOf(settingsSchema.shape.engine).keys()].map((kind) => `engine ${kind}`),
  ...rewardSchemas()
    .filter(({ shape }) => Object.keys(shape).length > 3)
    .map((schema) => `reward ${kindOf(schema)}`),
  "commands",
  "options",
];

if (process.argv[1]?.endsWith("reference-pages.ts"))
  for (const page of pages) writeFileSync(page, withReference(readFileSync(page, "utf8")));
