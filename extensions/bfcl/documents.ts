import type { JsonSchema, Tool } from "../../src/tools/tool.ts";
import { jsonText, str } from "../python/text.ts";
import { Dict, type Value } from "../python/values.ts";
import { moduleOfClass } from "./backends/backend.ts";
import { readVerified } from "./files.ts";
import { type BfclTask, recordsOf } from "./tasks.ts";

/** The document of one function, as published. */
export interface FunctionDocument {
  readonly name: string;
  readonly description: string;
  readonly parameters: Dict;
}

/** Reads the documents of every class from a folder. */
export function readDocuments(folder: string): ReadonlyMap<string, readonly FunctionDocument[]> {
  return new Map(
    Object.entries(moduleOfClass).map(([name, file]) => {
      const path = `multi_turn_func_doc/${file}.json`;
      const documents = recordsOf(readVerified(folder, path), path).map((record) => ({
        name: record.text("name"),
        description: record.text("description"),
        parameters: record.dict("parameters"),
      }));
      return [name, documents];
    }),
  );
}

/** The documents that a model sees at a turn: those of all classes of the task, without functions that appear later. */
export function documentsAt(
  documents: ReadonlyMap<string, readonly FunctionDocument[]>,
  task: BfclTask,
  turn: number,
): FunctionDocument[] {
  const later = new Set([...task.missedFunctions].flatMap(([at, names]) => (at > turn ? names : [])));
  return task.involvedClasses
    .flatMap((name) => documents.get(name) ?? [])
    .filter(({ name }) => !later.has(name))
    .map((document) => ({
      ...document,
      description: `${document.description} Note that the provided function is in Python 3 syntax.`,
    }));
}

/** The types of the documents as JSON schema has them. Others are texts. */
const jsonTypes: Readonly<Record<string, string>> = {
  integer: "integer",
  int: "integer",
  number: "number",
  float: "number",
  boolean: "boolean",
  bool: "boolean",
  array: "array",
  list: "array",
  tuple: "array",
  dict: "object",
  object: "object",
  string: "string",
};

/** A document's parameters as a JSON schema. */
export function parameterSchema(parameters: Dict): JsonSchema {
  return JSON.parse(jsonText(schemaOf(parameters))) as JsonSchema;
}

function schemaOf(schema: Dict): Dict {
  const out = schema.copy();
  const type = schema.get("type");
  if (typeof type === "string") out.set("type", jsonTypes[type] ?? "string");
  const description = schema.get("description");
  if (type === "float" && description !== undefined) out.set("description", `${str(description)} This is a float type value.`);
  const properties = schema.get("properties");
  if (properties instanceof Dict)
    out.set("properties", Dict.from(properties.pairs().map(([name, inner]) => [name, inside(inner)])));
  const items = schema.get("items");
  if (items !== undefined) out.set("items", inside(items));
  return out;
}

function inside(schema: Value): Value {
  return schema instanceof Dict ? schemaOf(schema) : schema;
}

/** A tool as the model sees it. The episode answers its calls itself. */
export function toolOf({ name, description, parameters }: FunctionDocument): Tool {
  return {
    name,
    description,
    parameters: parameterSchema(parameters),
    replayable: true,
    execute: () => "",
  };
}

/** The documents as JSON text for a prompt. */
export function documentsText(documents: readonly FunctionDocument[]): string {
  return jsonText(
    documents.map(({ name, description, parameters }) => Dict.of({ name, description, parameters: schemaOf(parameters) })),
  );
}
