import { type ConversationFormat, understood } from "../../../src/training/supervised/formats.ts";
import { atifSchema } from "./atif.ts";
import { chatRow } from "./dataset-rows.ts";
import { trainingTraceSchema } from "./training-trace.ts";

/** OpenEnv's `TrainingTrace` with its messages, trajectories in Harbor's ATIF, and rows of data sets. */
export const conversationFormats: readonly ConversationFormat[] = [
  {
    recognises: (row) => typeof versionOf(row) === "number",
    read: (row, where) => understood(trainingTraceSchema, row, where, "OpenEnv's TrainingTrace, with the messages of each turn"),
  },
  {
    recognises: (row) => String(versionOf(row)).startsWith("ATIF-v"),
    read: (row, where) => [understood(atifSchema, row, where, "Harbor's ATIF")],
  },
  { recognises: () => true, read: (row, where) => [chatRow(row, where)] },
];

function versionOf(row: unknown): unknown {
  return ((row ?? {}) as { readonly schema_version?: unknown }).schema_version;
}
