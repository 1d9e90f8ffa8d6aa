import { isRecord } from "../../src/core/record.ts";
import type { JsonSchema, Tool } from "../../src/tools/tool.ts";
import { readVerified } from "./files.ts";
import { type BfclTask, recordsOf } from "./tasks.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The document of one function, as published. */
export interface FunctionDocument {
  readonly name: string;
  readonly description: string;
  readonly parameters: Schema;
}

/** The file of each class's documents. */
const moduleOfClass: Readonly<Record<string, string>> = {
  GorillaFileSystem: "gorilla_file_system",
  MathAPI: "math_api",
  MessageAPI: "message_api",
  TwitterAPI: "posting_api",
  TicketAPI: "ticket_api",
  TradingBot: "trading_bot",
  TravelAPI: "travel_booking",
  VehicleControlAPI: "vehicle_control",
};

export const classes = Object.keys(moduleOfClass);

export function readDocuments(folder: string): ReadonlyMap<string, readonly FunctionDocument[]> {
  return new Map(
    Object.entries(moduleOfClass).map(([name, file]) => {
      const path = `multi_turn_func_doc/${file}.json`;
      const documents = recordsOf(readVerified(folder, path), path).map((record) => ({
        name: record.text("name"),
        description: record.text("description"),
        parameters: record.object("parameters"),
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
export function parameterSchema(schema: Schema): Schema {
  const { type, description, properties, items } = schema;
  return {
    ...schema,
    ...(typeof type === "string" && { type: jsonTypes[type] ?? "string" }),
    ...(type === "float" && description !== undefined && { description: `${description} This is a float type value.` }),
    ...(isRecord(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, inside(inner)])),
    }),
    ...(items !== undefined && { items: inside(items) }),
  };
}

function inside(schema: unknown): unknown {
  return isRecord(schema) ? parameterSchema(schema) : schema;
}

/** A tool as the model sees it. The episode answers its calls itself. */
export function toolOf({ name, description, parameters }: FunctionDocument): Tool {
  return {
    name,
    description,
    parameters: parameterSchema(parameters) as JsonSchema, // every document is an object's
    replayable: true,
    execute: () => "",
  };
}

/** The documents as JSON text for a prompt. */
export function documentsText(documents: readonly FunctionDocument[]): string {
  return JSON.stringify(
    documents.map(({ name, description, parameters }) => ({ name, description, parameters: parameterSchema(parameters) })),
  );
}

/** Names of each function's parameters in their order. */
export function parametersOf(documents: readonly FunctionDocument[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    documents.map(({ name, parameters: { properties } }) => [name, isRecord(properties) ? Object.keys(properties) : []]),
  );
}
