import type { Ajv as Draft7, ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Ajv } from "ajv/dist/ajv.js";
import addFormats from "ajv-formats";
import { reasonOf } from "../core/errors.ts";
import { host, TimeLimitError } from "../core/host.ts";
import { beyondBounds } from "./schema-bounds.ts";

export type Schema = Readonly<Record<string, unknown>>;

/** For compiling a schema, and for its patterns: both are often a stranger's, and a pattern that backtracks without end would stop the program. */
const compileMs = 5000;
const checkMs = 1000;
/** Checks that are kept by their schema's text: an endpoint reads the same schema with each request. */
const kept = 256;
/** Problems of one value that are reported. */
const maxProblems = 8;

export type Checked = { readonly success: true } | { readonly success: false; readonly problems: readonly string[] };

/** How the values of a schema are checked, or why they cannot be. */
type Check = { readonly validate: ValidateFunction } | { readonly problem: string };

const bySchema = new WeakMap<Schema, Check>();
const byText = new Map<string, Check>();

/**
 * Checks a value by a JSON schema (ajv): of the draft that `$schema` names, else of 2020-12, or of draft 7 where only that has it. The value is left
 * as it is. A `default` is a remark of the schema's (JSON Schema Validation 2020-12, §9.2) and not filled in: Notion's server would archive a block
 * where a model updates it.
 * @returns undefined for a schema that cannot be checked: `uncheckable` says why
 * @throws Error for a pattern that takes too long
 */
export function checkJson(schema: Schema, value: unknown): Checked | undefined {
  const check = checkOf(schema);
  if ("problem" in check) return undefined;
  const { validate } = check;
  try {
    if (host.interruptAfter(checkMs, () => validate(value))) return { success: true };
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    throw new Error(`the value could not be checked: a pattern of the schema has ${error.message}`);
  }
  return { success: false, problems: problemsOf(validate.errors ?? []) };
}

/** Returns why the values of a schema cannot be checked: it is no JSON schema, refers to another file, or takes too long. undefined if they can. */
export function uncheckable(schema: Schema): string | undefined {
  const check = checkOf(schema);
  return "problem" in check ? check.problem : undefined;
}

function checkOf(schema: Schema): Check {
  const known = bySchema.get(schema);
  if (known !== undefined) return known;
  const beyond = beyondBounds(schema);
  const check = beyond === undefined ? checkOfText(schema) : { problem: `it is ${beyond}` };
  bySchema.set(schema, check);
  return check;
}

function checkOfText(schema: Schema): Check {
  const text = JSON.stringify(schema);
  const check = byText.get(text) ?? compile(schema);
  if (byText.size >= kept) byText.clear();
  byText.set(text, check);
  return check;
}

type Dialect = "draft 7" | "2019-09" | "2020-12";
const compilers: Readonly<Record<Dialect, (options: Options) => Draft7>> = {
  "draft 7": (options) => new Ajv(options),
  "2019-09": (options) => new Ajv2019(options),
  "2020-12": (options) => new Ajv2020(options),
};
/** One of each draft checks the schemas themselves. Each schema has a compiler of its own, which keeps the ids in it. */
const metaSchemas = new Map<Dialect, Draft7>();

const settings = {
  ...{ strict: false, logger: false, allErrors: true, ownProperties: true },
  // 19.99 is a multiple of 0.01, whatever a division of doubles says.
  multipleOfPrecision: 9,
} as const satisfies Options;

function compile(schema: Schema): Check {
  const problems: string[] = [];
  for (const dialect of dialectsOf(schema)) {
    try {
      return { validate: host.interruptAfter(compileMs, () => compileAs(dialect, schema)) };
    } catch (error) {
      problems.push(`${reasonOf(error)} (${dialect})`);
    }
  }
  return { problem: problems.join("; ") || `its $schema is ${JSON.stringify(schema.$schema)}, of which no draft is known here` };
}

/** The supported drafts of JSON Schema. */
function dialectsOf({ $schema: named }: Schema): Dialect[] {
  if (named === undefined) return ["2020-12", "draft 7"];
  const address = String(named)
    .replace(/^https?:\/\//, "")
    .replace(/#$/, "");
  const known: Readonly<Record<string, Dialect>> = {
    "json-schema.org/draft-06/schema": "draft 7",
    "json-schema.org/draft-07/schema": "draft 7",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
  };
  const dialect = Object.hasOwn(known, address) ? known[address] : undefined;
  return dialect === undefined ? [] : [dialect];
}

function compileAs(dialect: Dialect, { $schema: _, ...schema }: Schema): ValidateFunction {
  const open = compilers[dialect];
  const meta = metaSchemas.get(dialect) ?? open({ ...settings, allErrors: false });
  metaSchemas.set(dialect, meta);
  if (meta.validateSchema(schema) !== true) throw new Error(`it is no JSON schema: ${problemsOf(meta.errors ?? []).join(", ")}`);
  const compiler = open({ ...settings, meta: false, validateSchema: false });
  addFormats.default(compiler);
  return compiler.compile(schema);
}

function problemsOf(errors: readonly ErrorObject[]): string[] {
  return [...new Set(errors.map(problemOf))].slice(0, maxProblems);
}

function problemOf({ instancePath, keyword, message = "is wrong", params }: ErrorObject): string {
  const names = instancePath.split("/").map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const path = names.slice(1).join(".");
  const { missingProperty, additionalProperty, allowedValues, allowedValue } = params as Readonly<Record<string, unknown>>;
  if (keyword === "required") return `${path === "" ? "" : `${path}.`}${missingProperty}: is required`;
  const named = [additionalProperty, allowedValues, allowedValue].find((each) => each !== undefined);
  const detail = named === undefined ? "" : ` (${JSON.stringify(named).slice(0, 200)})`;
  return `${path === "" ? "" : `${path}: `}${message}${detail}`;
}
