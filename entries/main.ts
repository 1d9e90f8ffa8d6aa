#!/usr/bin/env node
import { endDespiteLeftovers } from "../src/terminal/leftovers.ts";
import { main } from "./program.ts";

// Whoever reads may stop (`| head`); a run goes on without.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2), process.stdout, process.stderr);
endDespiteLeftovers((message) => process.stderr.write(message));
