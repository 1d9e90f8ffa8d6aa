#!/usr/bin/env node
import { endDespiteLeftovers } from "../src/terminal/leftovers.ts";
import { main } from "./program.ts";

// Whoever reads may stop (`| head`); a run continues without.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

// Node would open its inspector, to which any program of this user could then connect.
process.on("SIGUSR1", () => {});

process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr);
endDespiteLeftovers((message) => process.stderr.write(message));
