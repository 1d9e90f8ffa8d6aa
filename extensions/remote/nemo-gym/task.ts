import { z } from "zod";
import { ConfigError } from "../../../src/core/errors.ts";
import type { Split, Task } from "../../../src/environments/environment.ts";
import type { Row } from "../shared/rows.ts";
import { type CreateParams, createParamsSchema } from "./responses.ts";

export interface NemoGymTask extends Task {
  readonly row: Row;
  readonly params: CreateParams;
  /** The row's tools as it has them. */
  readonly tools: unknown;
}

/** @throws ConfigError naming the row */
export function taskOf(split: Split, index: number, row: Row): NemoGymTask {
  const params = createParamsSchema.safeParse(row.responses_create_params);
  if (params.success) {
    const { tools } = row.responses_create_params as { readonly tools?: unknown };
    return { id: `${split}/${index}`, row, params: params.data, tools };
  }
  throw new ConfigError(`environment.settings.tasks.${split}, row ${index + 1}: responses_create_params`, "not accepted", {
    expected: z.prettifyError(params.error),
  });
}
