import type { Backend } from "./backend.ts";
import { fileSystemBackend } from "./file-system.ts";
import { mathBackend } from "./math.ts";
import { messageBackend } from "./message.ts";
import { ticketBackend } from "./ticket.ts";
import { tradingBackend } from "./trading.ts";
import { travelBackend } from "./travel.ts";
import { twitterBackend } from "./twitter.ts";
import { vehicleBackend } from "./vehicle.ts";

/** The eight classes of BFCL's multi-turn categories, by name: 128 methods, each name in one class alone. */
export const backends: ReadonlyMap<string, Backend> = new Map(
  [
    fileSystemBackend,
    mathBackend,
    messageBackend,
    twitterBackend,
    ticketBackend,
    tradingBackend,
    travelBackend,
    vehicleBackend,
  ].map((backend) => [backend.name, backend]),
);
