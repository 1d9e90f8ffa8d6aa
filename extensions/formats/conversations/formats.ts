import type { ConversationFormat } from "../../../src/training/supervised/formats.ts";
import { chatRow } from "./dataset-rows.ts";

/** Rows of data sets. */
export const conversationFormats: readonly ConversationFormat[] = [
  { recognises: () => true, read: (row, where) => [chatRow(row, where)] },
];
